// The version is package.json's; wherever else it is written must say the same.
// usage: node scripts/version.mjs --check    fails when one differs
//        node scripts/version.mjs 1.2.3      makes that the version everywhere, and what is unreleased its changes
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const read = (file) => readFileSync(join(root, file), "utf8");

/** Each file, with what stands before and after the version in it. */
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
  if (!SEMVER.test(version)) fail(`package.json: ${version} is no version`);
  for (const [file, place] of PLACES) {
    const found = place.exec(read(file))?.[2];
    if (found !== version) fail(`${file} says ${found ?? "none"}, package.json ${version}`);
  }
} else if (SEMVER.test(wanted ?? "")) {
  const changes = read("CHANGELOG.md");
  const unreleased = "\n## Unreleased\n";
  if (!changes.includes(unreleased)) fail("CHANGELOG.md has nothing that is unreleased");
  for (const [file, place] of PLACES) {
    writeFileSync(join(root, file), read(file).replace(place, `$1${wanted}$3`));
  }
  const heading = `\n## ${wanted}, ${new Date().toISOString().slice(0, 10)}\n`;
  writeFileSync(join(root, "CHANGELOG.md"), changes.replace(unreleased, heading));
} else {
  fail("say --check, or a version as 1.2.3");
}
