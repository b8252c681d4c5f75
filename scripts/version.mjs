// Checks or sets the version, which is in package.json and other files.
// usage: node scripts/version.mjs --check    fails if a file has another version than package.json
//        node scripts/version.mjs 1.2.3      sets the version in all files and in the changelog's unreleased section
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const read = (file) => readFileSync(join(root, file), "utf8");

/**
 * All places of the version: a file, and a pattern with three groups (the text before the version, the version, the
 * text after it).
 */
const PLACES = [
  ["package.json", /^( {2}"version": ")([^"]*)(")/m],
  ["package-lock.json", /^( {2}"version": ")([^"]*)(")/m],
  ["package-lock.json", /^( {4}"": \{\n.*\n {6}"version": ")([^"]*)(")/m],
  ["extension/gemini-extension.json", /^( {2}"version": ")([^"]*)(")/m],
  ["extension/qwen-extension.json", /^( {2}"version": ")([^"]*)(")/m],
  ["doc/gemini-bridge.txt", /^(Version )(\S+)(, for Neovim .*)$/m],
];

const SEMVER = /^\d+\.\d+\.\d+(-[\w.]+)?$/;

function fail(message) {
  console.error(`version: ${message}`);
  process.exit(1);
}

const [wanted] = process.argv.slice(2);
if (wanted === "--check") {
  const { version } = JSON.parse(read("package.json"));
  if (!SEMVER.test(version)) fail(`package.json: ${version} is not a version`);
  for (const [file, place] of PLACES) {
    const found = place.exec(read(file))?.[2];
    if (found !== version) fail(`${file} has version ${found ?? "none"}, package.json has ${version}`);
  }
} else if (SEMVER.test(wanted ?? "")) {
  const changes = read("CHANGELOG.md");
  const unreleased = "\n## Unreleased\n";
  if (!changes.includes(unreleased)) fail("CHANGELOG.md has no unreleased changes");
  for (const [file, place] of PLACES) {
    writeFileSync(join(root, file), read(file).replace(place, `$1${wanted}$3`));
  }
  const heading = `\n## ${wanted}, ${new Date().toISOString().slice(0, 10)}\n`;
  writeFileSync(join(root, "CHANGELOG.md"), changes.replace(unreleased, heading));
} else {
  fail("usage: version.mjs --check, or version.mjs 1.2.3");
}
