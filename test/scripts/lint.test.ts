/** Tests that `make lint` finds wrong dependencies between modules, and long or complex functions. */
import { execFileSync, spawnSync } from "node:child_process";
import { appendFileSync, cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { root } from "../support/nvim.ts";
import { makeDirectory, writeFiles } from "../support/sandbox.ts";

t.test("a dependency cycle of Lua modules is an error", async (t) => {
  const copy = makeDirectory(t);
  cpSync(join(root, "lua"), join(copy, "lua"), { recursive: true });
  const lint = () => {
    const script = join(root, "scripts/check-modules.mjs");
    const { status, stderr } = spawnSync(process.execPath, [script, copy], { encoding: "utf8" });
    return { status, stderr };
  };
  t.same(lint(), { status: 0, stderr: "" });
  for (const [name, use] of [
    ["disk", 'local function later() require("gemini-bridge.review.requests") end'],
    ["turns", 'local later = lazy("gemini-bridge.changes.changes", "show")'],
    ["bridge", 'local loaded = package.loaded["gemini-bridge.host.lifecycle"]'],
  ] as const) {
    const [file] = readdirSync(join(copy, "lua/gemini-bridge", name)).filter((each) => /\.lua$/.test(each));
    const path = join(copy, "lua/gemini-bridge", name, file ?? "");
    const code = readFileSync(path, "utf8");
    appendFileSync(path, `\n${use}\n`);
    const { status, stderr } = lint();
    t.equal(status, 1);
    t.match(stderr, new RegExp(`a circle of requires: .*gemini-bridge\\.${name}`));
    writeFileSync(path, code);
  }
});

t.test(
  "a Lua module that touches windows or text must use the scheduler, and a missing module is an error",
  (t) => {
    const copy = makeDirectory(t);
    cpSync(join(root, "lua"), join(copy, "lua"), { recursive: true });
    const later = [
      "vim.schedule(f)",
      "vim.defer_fn(f, 1)",
      "vim.uv.new_timer()",
      'require("gemini-bridge.gone")',
    ];
    for (const line of later)
      appendFileSync(join(copy, "lua/gemini-bridge/changes/navigation.lua"), `${line}\n`);
    appendFileSync(join(copy, "lua/gemini-bridge/notify.lua"), "vim.schedule(f)\n");
    const script = join(root, "scripts/check-modules.mjs");
    const { status, stderr } = spawnSync(process.execPath, [script, copy], { encoding: "utf8" });
    t.equal(status, 1);
    for (const what of ["vim.schedule ", "vim.defer_fn ", "vim.uv.new_timer ", "gemini-bridge.gone"])
      t.match(stderr, what);
    t.notMatch(stderr, /notify/);
    t.end();
  },
);

t.test("a wrong dependency between rooms of src is an error, also by a type or import()", (t) => {
  const copy = makeDirectory(t);
  for (const part of ["src", "tsconfig.json", ".dependency-cruiser.mjs", "package.json"])
    cpSync(join(root, part), join(copy, part), { recursive: true });
  const cruise = () =>
    spawnSync(join(root, "node_modules/.bin/depcruise"), ["src"], { cwd: copy, encoding: "utf8" });
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

t.test("a function that is too long or too complex is an error, unless the list contains its file", (t) => {
  const folder = makeDirectory(t);
  execFileSync("git", ["init", "--quiet"], { cwd: folder });
  const lines = (count: number, line: string) => `${line}\n`.repeat(count);
  const deep = lines(6, "if (a) {") + lines(6, "}");
  writeFiles(folder, {
    "long.ts": `function f() {\n${lines(79, "f();")}}\n`,
    "short.ts": `function f() {\n${lines(70, "f();")}const g = () => {\n${lines(70, "f();")}};\n}\n`,
    "long.lua": `local function f(a)\n${lines(79, "  f(a)")}end\n`,
    "short.lua": `local function f()\n${lines(70, "  f()")}  g(function()\n${lines(70, "    f()")}  end)\nend\n`,
    "complex.ts": `export function f(a: boolean) {\n${deep}}\n`,
  });
  const known = { long: { "long.lua": 2, "gone.ts": 1 }, complex: { "complex.ts": 1 } };
  writeFiles(folder, { "scripts/functions-over-limit.json": JSON.stringify(known) });
  const script = join(root, "scripts/check-functions.mjs");
  const { status, stderr } = spawnSync(process.execPath, [script, folder], { encoding: "utf8" });
  t.equal(status, 1);
  t.match(stderr, /long\.ts:1: 81 lines, at most 80/);
  t.match(stderr, /set "long" of long\.lua to 1/);
  t.match(stderr, /set "long" of gone\.ts to 0/);
  t.equal(
    stderr.trim().split("\n").length,
    3,
    "nothing else, so the complex function was found and is allowed",
  );
  t.end();
});
