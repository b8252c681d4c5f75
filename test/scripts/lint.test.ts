/** Tests that `make lint` finds wrong dependencies between modules. */
import { spawnSync } from "node:child_process";
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
