import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { KEEP_CODE_CACHE } from "../support/code-cache.ts";
import { root } from "../support/nvim.ts";
import { makeDirectory, withEnv } from "../support/sandbox.ts";
import type { Scope } from "../support/scope.ts";

/** Creates a plugin folder. Its bundle exports the value of `expression` and the name of its build. */
function makePlugin(t: Scope, build: string, expression: string) {
  const dir = makeDirectory(t);
  cpSync(join(root, "rplugin"), join(dir, "rplugin"), { recursive: true });
  const bundle = join(dir, "dist", "gemini-bridge.cjs");
  const write = (name: string, value: string) =>
    writeFileSync(bundle, `//${name}\nexports.answer = () => ${value};\n`);
  mkdirSync(join(dir, "dist"));
  write(build, expression);
  const node = (...args: string[]) => {
    const [file = "", ...words] = withEnv({}, [process.execPath, ...args]);
    return execFileSync(file, words, { cwd: dir, encoding: "utf8" });
  };
  const show = `const { exports, script } = require("./rplugin/node/gemini-bridge/load.js")();
    console.log(JSON.stringify({ answer: exports.answer(), rejected: script.cachedDataRejected ?? "no cache" }))`;
  return {
    bundle,
    write,
    makeCache: () => node("-e", KEEP_CODE_CACHE),
    load: (...flags: string[]): unknown => JSON.parse(node(...flags, "-e", show)),
  };
}

t.test("the bundle is loaded only with the cache of the same build", async (t) => {
  const plugin = makePlugin(t, "one", '"first"');
  t.same(plugin.load(), { answer: "first", rejected: "no cache" });
  plugin.makeCache();
  t.same(plugin.load(), { answer: "first", rejected: false });

  // The lengths are equal, so V8 would accept the old cache and run the old functions.
  plugin.write("two", '"other"');
  t.same(plugin.load(), { answer: "other", rejected: "no cache" });
});

t.test("a cache from a Node with other flags is refused", async (t) => {
  const plugin = makePlugin(t, "one", '"first"');
  plugin.makeCache();
  t.same(plugin.load("--stack-size=800"), { answer: "first", rejected: true });
});

t.test("a stack trace has the lines and columns of the bundle", async (t) => {
  const plugin = makePlugin(t, "one", "new Error().stack.split('\\n')[1]");
  t.same(plugin.load(), {
    answer: `    at exports.answer (${plugin.bundle}:2:24)`,
    rejected: "no cache",
  });
});
