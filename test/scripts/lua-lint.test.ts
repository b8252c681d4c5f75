/** What `make lint` says of the Lua modules, when something is wrong with them. */
import { spawnSync } from "node:child_process";
import { appendFileSync, cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { root } from "../support/nvim.ts";
import { makeDirectory } from "../support/sandbox.ts";

function copyModules(t: Test) {
  const copy = makeDirectory(t);
  cpSync(join(root, "lua"), join(copy, "lua"), { recursive: true });
  const file = (name: string) => join(copy, "lua/gemini-bridge", name);
  return {
    append: (name: string, text: string) => appendFileSync(file(name), text),
    add: (part: string) => cpSync(join(root, part), join(copy, part), { recursive: true }),
    replace(name: string, from: string, to: string) {
      const text = readFileSync(file(name), "utf8");
      writeFileSync(file(name), text.replace(from, to));
    },
    write: (name: string, text: string) => writeFileSync(file(name), text),
    lint(script: string) {
      const { status, stderr } = spawnSync(process.execPath, [join(root, "scripts", script), copy], {
        encoding: "utf8",
      });
      return { status, stderr };
    },
  };
}

t.test("modules hang together without a circle, each name and class once", async (t) => {
  const modules = copyModules(t);
  t.same(modules.lint("check-modules.mjs"), { status: 0, stderr: "" });
  modules.append("disk/path.lua", '\nlocal function later() require("gemini-bridge.review.reviews") end\n');
  modules.write("review/path.lua", "---@class gemini_bridge.Review\n");
  const { status, stderr } = modules.lint("check-modules.mjs");
  t.equal(status, 1);
  t.match(stderr, /a circle of requires: .*gemini-bridge\.disk/);
  t.match(stderr, /the name path\.lua stands in disk\/path\.lua and review\/path\.lua/);
  t.match(stderr, /the class gemini_bridge\.Review stands in /);
});

t.test("folders know each other as the architecture page says", async (t) => {
  const modules = copyModules(t);
  for (const part of ["src", "doc/architecture.md"]) modules.add(part);
  t.same(modules.lint("check-modules.mjs"), { status: 0, stderr: "" });
  modules.append(
    "context/workspace.lua",
    '\nlocal function later() require("gemini-bridge.editor.turn") end\n',
  );
  modules.write("../../src/disk/wrong.ts", 'import type { Session } from "../http/session.ts";\n');
  modules.replace("../../doc/architecture.md", "| `platform` | |", "| `platform` | `cli` |\n| `gone` | |");
  const { status, stderr } = modules.lint("check-modules.mjs");
  t.equal(status, 1);
  t.same(stderr.trim().split("\n").sort(), [
    "check-modules: doc/architecture.md, lua/gemini-bridge: context knows editor, which it may not",
    "check-modules: doc/architecture.md, src: disk knows http, which it may not",
    "check-modules: doc/architecture.md, src: platform does not know cli",
    "check-modules: doc/architecture.md, src: there is no gone",
  ]);
});

t.test("annotations agree with the code", async (t) => {
  const modules = copyModules(t);
  t.same(modules.lint("check-annotations.mjs"), { status: 0, stderr: "" });
  modules.write(
    "disk/wrong.lua",
    `---@param two integer
---@param one integer
local function swapped(one, two) end

--- It takes something.
---@param given gemini_bridge.Nowhere
function M.half(given, forgotten) end

function M.silent() end

--- A method's and a vararg's are read, too.
---@param ... string
function M.fine(...) end
`,
  );
  const { status, stderr } = modules.lint("check-annotations.mjs");
  t.equal(status, 1);
  t.same(
    stderr.trim().split("\n"),
    [
      "disk/wrong.lua:3: swapped(one, two) is annotated (two, one)",
      "disk/wrong.lua:6: gemini_bridge.Nowhere is declared nowhere",
      "disk/wrong.lua:7: M.half(given, forgotten) is annotated (given)",
      "disk/wrong.lua:9: M.silent says nothing of itself",
    ].map((problem) => `check-annotations: ${problem}`),
  );
});
