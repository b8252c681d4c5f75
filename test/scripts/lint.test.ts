/** `make lint` finds what is wrong with how modules depend on each other, and with annotations. */
import { spawnSync } from "node:child_process";
import { appendFileSync, cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { root } from "../support/nvim.ts";
import { makeDirectory, writeFiles } from "../support/sandbox.ts";

function copyModules(t: Test) {
  const copy = makeDirectory(t);
  cpSync(join(root, "lua"), join(copy, "lua"), { recursive: true });
  const file = (name: string) => join(copy, "lua/gemini-bridge", name);
  return {
    append: (name: string, text: string) => appendFileSync(file(name), text),
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

t.test("a room of src that depends on the wrong room is an error, also by a type or import()", (t) => {
  const copy = makeDirectory(t);
  for (const part of ["src", "tsconfig.json", ".dependency-cruiser.mjs", "package.json"])
    cpSync(join(root, part), join(copy, part), { recursive: true });
  const cruise = () =>
    spawnSync(join(root, "node_modules/.bin/depcruise"), ["src"], { cwd: copy, encoding: "utf8" });
  t.equal(cruise().status, 0);
  const write = (name: string, text: string) => writeFiles(join(copy, "src"), { [name]: text });
  write(
    "review/type.ts",
    'import type { History } from "../changes/history.ts";\nexport type T = History;\n',
  );
  write("http/later.ts", 'export const later = () => import("../context/context.ts");\n');
  write("system/one.ts", 'export const one = () => import("../contract/two.ts");\n');
  write("contract/two.ts", 'import type { Log } from "../system/one.ts";\nexport type T = Log;\n');
  write("new/room.ts", 'import "../base/log.ts";\n');
  write("base/top.ts", 'import type { Services } from "../services.ts";\nexport type T = Services;\n');
  const { status, stdout } = cruise();
  t.not(status, 0);
  for (const rule of [
    "no-feature-depends-on-another: src/review/type.ts",
    "no-foundation-depends-on-a-feature: src/http/later.ts",
    /no-cycle: src\/(system\/one|contract\/two)\.ts/,
    "no-cycle-of-rooms: src/",
    "every-room-is-listed-here: src/new/room.ts",
    "no-room-depends-on-the-top: src/base/top.ts",
  ])
    t.match(stdout, rule);
  t.end();
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
