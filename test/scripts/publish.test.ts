/** Tests how a release is published, using a local repository. */
import { execFileSync } from "node:child_process";
import { appendFileSync, cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { root } from "../support/nvim.ts";
import { commit, copyPlugin } from "../support/plugin.ts";
import { makeDirectory } from "../support/sandbox.ts";

/** Creates a repository, a clone of it, and the scripts that build a release. */
function startProject(t: Test) {
  const home = makeDirectory(t);
  const origin = join(home, "origin.git");
  const clone = copyPlugin(join(home, "clone"));
  cpSync(join(root, "dist"), join(clone, "dist"), { recursive: true });
  const git = commit(clone, "main");
  execFileSync("git", ["init", "--quiet", "--bare", "--initial-branch=main", origin]);
  git("remote", "add", "origin", origin);
  git("push", "--quiet", "origin", "main");
  const who = { GIT_AUTHOR_NAME: "t", GIT_AUTHOR_EMAIL: "t@localhost" };
  const env = { ...process.env, ...who, GIT_COMMITTER_NAME: "t", GIT_COMMITTER_EMAIL: "t@localhost" };
  const node = (...words: string[]) =>
    execFileSync(process.execPath, words, { cwd: clone, env, encoding: "utf8", stdio: "pipe" });
  const inOrigin = (...words: string[]) =>
    execFileSync("git", words, { cwd: origin, encoding: "utf8" }).trim();
  return { clone, git, node, inOrigin };
}

t.test("each release is a tagged commit on the release branch", async (t) => {
  const { clone, git, node, inOrigin } = startProject(t);
  const release = (version: string) => {
    node("scripts/version.mjs", version);
    git("commit", "--all", "--quiet", "--message", version);
    node("scripts/package.mjs");
    return node("scripts/publish.mjs", version);
  };
  t.match(release("1.2.3"), /^v1\.2\.3 is [0-9a-f]{40}\n$/);
  t.match(inOrigin("show", "v1.2.3:doc/gemini-bridge.txt"), "Version 1.2.3,");
  t.match(inOrigin("ls-tree", "--name-only", "v1.2.3:dist"), "gemini-bridge.cjs");
  t.equal(inOrigin("log", "-1", "--format=%s", "main"), "1.2.3");
  t.match(readFileSync(join(clone, "package/CHANGES.md"), "utf8"), /^### Added\n/);

  t.throws(() => node("scripts/publish.mjs", "1.2.4"), /make version VERSION=1\.2\.4/);
  t.throws(() => node("scripts/publish.mjs", "1.2.3"), /v1\.2\.3 exists/);

  const changelog = join(clone, "CHANGELOG.md");
  const changed = readFileSync(changelog, "utf8").replace(
    "\n## 1.2.3",
    "\n## Unreleased\n\n- Mended.\n\n## 1.2.3",
  );
  writeFileSync(changelog, changed);
  appendFileSync(join(clone, "SECURITY.md"), "\nmore\n");
  release("1.2.4");
  t.equal(inOrigin("log", "--format=%s", "release"), "release 1.2.4\nrelease 1.2.3");
  t.equal(inOrigin("rev-parse", "v1.2.4"), inOrigin("rev-parse", "release"));
  t.equal(inOrigin("diff", "--name-only", "v1.2.3", "v1.2.4").includes("SECURITY.md"), true);
  t.equal(readFileSync(join(clone, "package/CHANGES.md"), "utf8"), "- Mended.\n");
});

t.test(
  "a package is not published if it is of another version, or if the changelog does not mention the version",
  async (t) => {
    const { clone, git, node, inOrigin } = startProject(t);
    node("scripts/package.mjs");
    node("scripts/version.mjs", "2.0.0");
    t.throws(() => node("scripts/publish.mjs", "2.0.0"), /package\/ has another version/);
    const changelog = join(clone, "CHANGELOG.md");
    writeFileSync(changelog, readFileSync(changelog, "utf8").replace("## 2.0.0", "## 1.9.9"));
    git("commit", "--all", "--quiet", "--message", "2.0.0");
    node("scripts/package.mjs");
    t.throws(() => node("scripts/publish.mjs", "2.0.0"), /CHANGELOG\.md has no section for 2\.0\.0/);
    t.equal(inOrigin("tag"), "");
    t.equal(inOrigin("branch", "--format=%(refname:short)"), "main");
    t.notOk(existsSync(join(clone, "package/CHANGES.md")));
  },
);
