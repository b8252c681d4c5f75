/** Tests that the content of a release depends only on the commit. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { root } from "../support/nvim.ts";
import { commit, copyPlugin, packageVersion } from "../support/plugin.ts";
import { makeDirectory } from "../support/sandbox.ts";

const ORIGIN = "git@github.com:some-owner/gemini-bridge.nvim.git";

/**
 * Builds a release from a clone.
 * @returns the folder of the release, and the hash of its archive
 */
function makePackage(t: Test) {
  const clone = copyPlugin(join(makeDirectory(t), "clone"));
  commit(clone, "main");
  execFileSync("git", ["remote", "add", "origin", ORIGIN], { cwd: clone });
  symlinkSync(join(root, "node_modules"), join(clone, "node_modules"));
  const node = (...words: string[]) => execFileSync(process.execPath, words, { cwd: clone, stdio: "pipe" });
  node("scripts/build.mjs");
  const into = makeDirectory(t);
  node("scripts/package.mjs", into);
  const archive = readFileSync(join(into, `gemini-bridge.nvim-${packageVersion}.tar.gz`));
  return {
    clone,
    folder: join(into, "gemini-bridge.nvim"),
    hash: createHash("sha256").update(archive).digest("hex"),
  };
}

t.test("a release of the same commit has the same bytes, wherever it is built", async (t) => {
  const one = makePackage(t);
  const other = makePackage(t);
  t.equal(one.hash, other.hash);

  const files = readdirSync(one.folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    statSync(join(one.folder, name)).isFile(),
  );
  for (const name of files) {
    t.notOk(
      readFileSync(join(one.folder, name)).includes(one.clone),
      `${name} does not say where it was built`,
    );
  }
  const readme = readFileSync(join(one.folder, "README.md"), "utf8");
  t.match(readme, `"some-owner/gemini-bridge.nvim", version = "*"`, "the installation names the owner");
  t.notMatch(readme, /<owner>/);
  const tops = new Set(files.map((name) => name.split("/")[0]));
  t.same([...tops].sort(), [
    ".gitignore",
    ...["CHANGELOG.md", "LICENSE", "README.md", "SECURITY.md", "THIRD_PARTY_NOTICES"],
    ...["build.lua", "dist", "doc", "extension", "lua", "plugin", "rplugin"],
  ]);
  t.notMatch(files.join("\n"), /\.cache|\.ts$|node_modules/m, "nothing of this machine, and no sources");
});

t.test("a release cannot be packed without a build", async (t) => {
  const clone = copyPlugin(join(makeDirectory(t), "clone"));
  commit(clone, "main");
  const into = makeDirectory(t);
  t.throws(
    () => execFileSync(process.execPath, ["scripts/package.mjs", into], { cwd: clone, stdio: "pipe" }),
    /dist\/gemini-bridge\.cjs is missing: run "make build"/,
  );
  t.notOk(existsSync(join(into, "gemini-bridge.nvim")));
});

t.test(
  "different versions in the plugin's files are an error, and a new version is written to all files",
  async (t) => {
    const clone = copyPlugin(join(makeDirectory(t), "clone"));
    const version = (...words: string[]) =>
      execFileSync(process.execPath, ["scripts/version.mjs", ...words], { cwd: clone, stdio: "pipe" });
    version("7.8.9");
    version("--check");
    t.match(readFileSync(join(clone, "extension/gemini-extension.json"), "utf8"), '"version": "7.8.9"');
    t.match(readFileSync(join(clone, "doc/gemini-bridge.txt"), "utf8"), "Version 7.8.9");
    t.match(readFileSync(join(clone, "CHANGELOG.md"), "utf8"), /^## 7\.8\.9, \d{4}-\d\d-\d\d$/m);
    t.throws(() => version("7.9"), /usage: version\.mjs --check/);
    execFileSync("sed", ["-i.old", "s/7.8.9/7.8.8/", "extension/qwen-extension.json"], { cwd: clone });
    t.throws(() => version("--check"), /qwen-extension\.json has version 7\.8\.8, package\.json has 7\.8\.9/);
  },
);
