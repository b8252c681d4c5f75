/** The list of processes that Lua reads, with the output of another system's `ps`. */
import { chmodSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { startNvim } from "../support/nvim.ts";
import { writeFiles } from "../support/sandbox.ts";

const LIST = `
local found, list = nil, {}
require("gemini-bridge.terminal.process_tree").list(function(processes) found = processes end)
vim.wait(5000, function() return found ~= nil end, 5)
for pid, process in vim.spairs(found) do list[#list + 1] = { pid, process.ppid, process.words } end
return list`;

t.test("reads what ps prints on macOS", async (t) => {
  const nvim = await startNvim(t, { init: "vim.env.PATH = vim.env.HOME .. '/bin:' .. vim.env.PATH" });
  const printed = `    1     0 /sbin/launchd
  850   801 -zsh
  900   850 node /opt/homebrew/bin/gemini --model x
`;
  writeFiles(nvim.dirs.home, { "bin/ps": `#!/bin/sh\ncat <<'END'\n${printed}END\n` });
  chmodSync(join(nvim.dirs.home, "bin/ps"), 0o755);
  t.same(await nvim.lua(LIST), [
    [1, 0, ["/sbin/launchd"]],
    [850, 801, ["-zsh"]],
    [900, 850, ["node", "/opt/homebrew/bin/gemini", "--model", "x"]],
  ]);
});

t.test("finds nothing without ps", async (t) => {
  const nvim = await startNvim(t, { init: "vim.env.PATH = '/nowhere'" });
  t.same(await nvim.lua(LIST), []);
});
