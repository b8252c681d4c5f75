// Generates the tables of the documentation: the known CLIs, from their profiles; the performance, from the results of
// the benchmarks; and what the tests of reliability state.
// usage: tables.ts [--check]    --check writes nothing, and fails if a table differs
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { defaultSettings } from "../src/profiles/default-settings.ts";
import { launchArguments, launchVariables } from "../src/profiles/launch-arguments.ts";
import { type Profile, profilesOf } from "../src/profiles/profiles.ts";

const read = (file: string) => readFileSync(join(import.meta.dirname, "..", file), "utf8");
const yes = (is: boolean) => (is ? "yes" : "no");

function rowOf(profile: Profile): string[] {
  const hook = "/hook.sh";
  // Everything that the plugin gives to the CLI at the CLI's start: default settings, arguments and variables.
  const given = JSON.stringify([
    profile.defaults ? defaultSettings(profile, hook) : [],
    launchArguments(profile, hook),
    Object.values(launchVariables(profile)),
  ]).replaceAll("\\", "");
  return [
    profile.label,
    profile.name === "gemini" ? "`:Gemini`" : `\`:Gemini cli=${profile.name}\``,
    profile.content === "socket" ? "active file, selection" : "open files, cursor, selection",
    yes(profile.reviews),
    yes(given.includes('"hooks":')),
    yes(profile.gate !== undefined),
    yes(/"mcp(Servers)?":/.test(given)),
  ];
}

/** Returns figures and floors of `bench/results.md` on the newest measured Neovim. */
function performance(): string[][] {
  const [nvim = "", ...lines] = read("bench/results.md").split("\n## ").at(-1)?.split("\n") ?? [];
  const rows = lines.filter((line) => line.startsWith("| ")).slice(2);
  const felt = rows.map((line) => line.slice(2).split(" | ").slice(0, 3));
  return [[`Median (quartiles), ${nvim}`, "Figure", "Floor"], ...felt];
}

/** Tests of everything that could break a working day. */
const RELIABLE = [
  ...["death", "crash", "lifecycle", "working-day", "fuzz", "context-property"].map((name) => `nvim/${name}`),
  ...["hostile", "peers", "fuzz", "conformance"].map((name) => `http/${name}`),
  "unit/changes-property",
];

function reliability(): string[][] {
  const rows = RELIABLE.flatMap((name) => {
    const file = `test/${name}.test.ts`;
    const titles = [...read(file).matchAll(/^t\.test\(\s*"(.+?)",$|^t\.test\("(.+?)",/gm)];
    if (titles.length === 0) throw new Error(`${file} has no test`);
    return titles.map(([, long, short]) => [long ?? short ?? "", `[${name}](../${file})`]);
  });
  return [["What the test states", "Test"], ...rows];
}

const TABLES: [file: string, name: string, rows: string[][]][] = [
  [
    "README.md",
    "clis",
    [["CLI", "Start", "Context", "Reviews", "Changes, turns", "Gate", "Tools"], ...profilesOf().map(rowOf)],
  ],
  ["doc/performance.md", "performance", performance()],
  ["doc/reliability.md", "reliability", reliability()],
];

for (const [file, name, [header = [], ...rows]] of TABLES) {
  const before = read(file);
  const [start, end] = [`<!-- ${name}:start -->\n`, `<!-- ${name}:end -->`];
  const [head, rest] = before.split(start);
  const [, tail] = rest?.split(end) ?? [];
  if (head === undefined || tail === undefined) throw new Error(`${file} needs ${start.trim()} and ${end}`);
  const line = (cells: string[]) => `| ${cells.join(" | ")} |\n`;
  const table = [line(header), `|${"---|".repeat(header.length)}\n`, ...rows.map(line)].join("");
  const after = head + start + table + end + tail;
  if (after === before) continue;
  if (process.argv.includes("--check")) {
    console.error(`${file}: the table ${name} is out of date; run: make doc`);
    process.exitCode = 1;
  } else writeFileSync(join(import.meta.dirname, "..", file), after);
}
