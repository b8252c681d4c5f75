/** What Lua asks of systems, word for word as they answer. */
import t from "tap";
import { startNvim } from "../support/nvim.ts";

t.test("lists of processes", async (t) => {
  const nvim = await startNvim(t);
  const parse = (system: string, output: string) =>
    nvim.lua(
      `local found = require("gemini-bridge.config.platform").parse_list(...)
       local list = {}
       for pid, process in vim.spairs(found) do list[#list + 1] = { pid, process.ppid, process.words } end
       return list`,
      system,
      output,
    );
  const macos = [
    "    1     0 /sbin/launchd",
    "  850   801 -zsh",
    "  900   850 node /opt/homebrew/bin/gemini --model x",
    "",
  ];
  t.same(await parse("mac", macos.join("\n")), [
    [1, 0, ["/sbin/launchd"]],
    [850, 801, ["-zsh"]],
    [900, 850, ["node", "/opt/homebrew/bin/gemini", "--model", "x"]],
  ]);
  const windows = [
    { ProcessId: 4, ParentProcessId: 0, CommandLine: null },
    {
      ProcessId: 7500,
      ParentProcessId: 7400,
      CommandLine: '"C:\\Program Files\\nodejs\\node.exe"  C:\\Users\\Ada\\gemini.js --prompt="a b"',
    },
  ];
  const node = [
    7500,
    7400,
    ["C:\\Program Files\\nodejs\\node.exe", "C:\\Users\\Ada\\gemini.js", "--prompt=a b"],
  ];
  t.same(await parse("windows", JSON.stringify(windows)), [[4, 0, []], node]);
  t.same(await parse("windows", JSON.stringify(windows[1])), [node], "one alone is no list");
  for (const broken of ["", "{", "null", "1", "[1]"]) t.same(await parse("windows", broken), [], broken);
});

t.test("the end of a process and all below it", async (t) => {
  const nvim = await startNvim(t);
  const command = (system: string) =>
    nvim.lua('return require("gemini-bridge.config.platform").guard_command(...)', system, 900);
  t.same(await command("windows"), ["cmd.exe", "/d", "/c", "more >nul & taskkill /t /f /pid 900"]);
  t.match(await command("mac"), ["sh", "-c", /kill -TERM/, "sh", "900"]);
  const here = await nvim.lua('return require("gemini-bridge.config.platform").here');
  t.equal(here, { darwin: "mac", linux: "linux", win32: "windows" }[String(process.platform)]);
});
