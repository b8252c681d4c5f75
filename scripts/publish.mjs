// Publishes the result of `make package`: pushes a new commit of the branch `release`, its tag, and the source branch.
// Git pushes either all of them or none. Writes the changelog of this version to package/CHANGES.md.
// usage: node scripts/publish.mjs 1.2.3
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = join(root, "package/gemini-bridge.nvim");
const [wanted] = process.argv.slice(2);
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const tag = `v${version}`;

function fail(message) {
  console.error(`publish: ${message}`);
  process.exit(1);
}

const scratch = mkdtempSync(join(tmpdir(), "gb-publish-"));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));
const env = { ...process.env, GIT_INDEX_FILE: join(scratch, "index") };
const git = (...words) => execFileSync("git", words, { cwd: root, env, encoding: "utf8" }).trim();
/** @returns {string | undefined} the commit to which a tag or branch points, if it exists */
const commitOf = (name) =>
  spawnSync("git", ["rev-parse", "--quiet", "--verify", `${name}^{commit}`], {
    cwd: root,
    encoding: "utf8",
  }).stdout.trim() || undefined;

/** Returns the text of the changelog about this version. */
function changes() {
  const [, ...sections] = readFileSync(join(root, "CHANGELOG.md"), "utf8").split(/^## /m);
  const section = sections.find((section) => section.startsWith(`${version},`));
  return section?.slice(section.indexOf("\n")).trim();
}

if (wanted !== version) fail(`package.json says ${version}: run "make version VERSION=${wanted}" first`);
if (!readFileSync(join(folder, "doc/gemini-bridge.txt"), "utf8").includes(`Version ${version},`))
  fail(`package/ has another version: run "make package"`);
const changed = changes() ?? fail(`CHANGELOG.md has no section for ${version}`);
git("fetch", "--quiet", "--tags", "origin");
if (commitOf(`refs/tags/${tag}`)) fail(`the tag ${tag} exists already`);

git(`--work-tree=${folder}`, "add", "--all", "--force", "--", folder);
const tree = git("write-tree");
const last = commitOf("refs/remotes/origin/release");
const commit = git("commit-tree", tree, "-m", `release ${version}`, ...(last ? ["-p", last] : []));
git("tag", tag, commit);
git("push", "--quiet", "--atomic", "origin", "HEAD", `${commit}:refs/heads/release`, `refs/tags/${tag}`);
writeFileSync(join(root, "package/CHANGES.md"), `${changed}\n`);
console.log(`${tag} is ${commit}`);
