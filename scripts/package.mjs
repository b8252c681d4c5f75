// Builds a release as a folder, and an archive of this folder. A release needs only Neovim and Node. The same commit
// always gives the same archive: git sorts the files and sets their modes, and each file has the date of the commit.
// usage: node scripts/package.mjs [directory]
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const into = resolve(process.argv[2] ?? join(root, "package"));
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/** Files and folders that a release takes from the repository. */
const SHIPPED = [
  ...["lua", "plugin", "rplugin", "doc", "extension", "build.lua"],
  ...["README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE", "THIRD_PARTY_NOTICES"],
];
const BUILT = ["gemini-bridge.cjs", "doctor.cjs", "neovim.cjs", "neovim.json", "sources.sha256"];

/** Content of the release's .gitignore: files that appear in its folder after the installation. */
const IGNORED = "/dist/cache/\n/doc/tags\n";

/**
 * Replaces `<owner>` in the README by the owner of the GitHub repository `origin`. Does nothing if `origin` is not on
 * GitHub.
 */
function fillInOwner(readme) {
  const { stdout } = spawnSync("git", ["remote", "get-url", "origin"], { cwd: root, encoding: "utf8" });
  const owner = /github\.com[:/]([\w-]+)\/[\w.-]+$/.exec(stdout.trim())?.[1];
  if (owner) writeFileSync(readme, readFileSync(readme, "utf8").replaceAll("<owner>", owner));
}

const missing = BUILT.filter((name) => !existsSync(join(root, "dist", name)));
if (missing.length > 0) throw new Error(`dist/${missing[0]} is missing: run "make build"`);

const git = (...words) => execFileSync("git", words, { cwd: root, encoding: "utf8" });
const date = git("log", "-1", "--format=%cI").trim();
const files = git("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ...SHIPPED).split(
  "\0",
);

const folder = join(into, "gemini-bridge.nvim");
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const copy = (file) => cpSync(join(root, file), join(folder, file));
// Skips files that were deleted since the last commit, because git still lists them.
for (const file of files.filter((file) => file !== "" && existsSync(join(root, file)))) copy(file);
for (const name of BUILT) copy(join("dist", name));
writeFileSync(join(folder, ".gitignore"), IGNORED);
fillInOwner(join(folder, "README.md"));

const repository = mkdtempSync(join(tmpdir(), "gb-package-"));
try {
  const who = { NAME: "gemini-bridge.nvim", EMAIL: "release@localhost", DATE: date };
  const env = { ...process.env, GIT_DIR: repository, GIT_WORK_TREE: folder, GIT_CONFIG_GLOBAL: "/dev/null" };
  for (const [name, value] of Object.entries(who)) {
    env[`GIT_AUTHOR_${name}`] = env[`GIT_COMMITTER_${name}`] = value;
  }
  const inIt = (...words) =>
    execFileSync("git", ["-c", "core.autocrlf=false", "-c", "tar.umask=0022", ...words], {
      env,
      cwd: folder,
      maxBuffer: 1e8,
    });
  inIt("init", "--quiet");
  inIt("add", "--all");
  inIt("commit", "--quiet", "--message", `release ${version}`);
  const archive = inIt("archive", "--format=tar", "--prefix=gemini-bridge.nvim/", "HEAD");
  const path = join(into, `gemini-bridge.nvim-${version}.tar.gz`);
  writeFileSync(path, gzipSync(archive, { level: 9 }));
  console.log(`${folder}\n${path}`);
} finally {
  rmSync(repository, { recursive: true, force: true });
}
