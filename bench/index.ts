/** `make bench`: measures, prints the table, and writes bench/results.md. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { cpus, release, totalmem, type } from "node:os";
import { join } from "node:path";
import { root } from "../test/support/nvim.ts";
import { buildFloor } from "./floor/floor.ts";
import { diffRows } from "./rows/diffs.ts";
import { eventRows, snapshotRows } from "./rows/events.ts";
import { hookRows } from "./rows/hooks.ts";
import { memoryRows } from "./rows/memory.ts";
import { startRows } from "./rows/start.ts";
import { startupRows } from "./rows/startup.ts";
import { turnRows } from "./rows/turns.ts";
import { visibleRows } from "./rows/visible.ts";
import { within } from "./subject.ts";
import { formatMarkdown, formatTerminal, isMissed, type Results, type Row } from "./table.ts";

/** Functions that measure the rows of a group. They get the path of the bundled minimal host. */
const groups: Readonly<Record<string, (floor: string) => Promise<Row[]>>> = {
  startup: startupRows,
  start: startRows,
  events: eventRows,
  snapshot: snapshotRows,
  visible: visibleRows,
  diffs: diffRows,
  hooks: hookRows,
  turns: turnRows,
  memory: memoryRows,
};

/** Names of the groups on the command line. Without names, all groups are measured. */
const named = process.argv.slice(2);
const wanted = Object.keys(groups).filter((name) => named.length === 0 || named.includes(name));

const machine = [
  `${cpus().length} × ${cpus()[0]?.model.trim() ?? "processor"}`,
  `${Math.round(totalmem() / 1e9)} GB`,
  `${type()} ${release().split("-", 1)[0]}`,
  `Node ${process.version}`,
].join(", ");

function write(results: readonly Results[]): void {
  const date = new Date().toISOString().slice(0, 10);
  const head = [
    "# Results",
    "",
    `Made by \`make bench\` on ${date}: ${machine}.`,
    "The [README](README.md) explains each row.",
    "",
  ];
  writeFileSync(
    join(import.meta.dirname, "results.md"),
    [...head, ...results.map(formatMarkdown)].join("\n"),
  );
}

async function measure(floor: string, nvim: string): Promise<Results> {
  const results: Results = { nvim, rows: [] };
  for (const name of wanted) {
    const start = performance.now();
    results.rows.push(...((await groups[name]?.(floor)) ?? []));
    console.error(`${nvim}: ${name}, ${((performance.now() - start) / 1000).toFixed(0)} s`);
  }
  console.log(formatTerminal(results));
  return results;
}

// Suppresses Node's warnings about too many listeners: the client adds a listener for each request, and some rows send
// a thousand requests.
process.removeAllListeners("warning");

const binaries = execFileSync(join(root, "scripts/nvim.sh"), { encoding: "utf8" }).trim().split("\n");
const all: Results[] = [];
await within(async (scope) => {
  const floor = await buildFloor(scope);
  for (const binary of binaries) {
    process.env["NVIM_BIN"] = binary; // the test helpers start this Neovim
    const nvim = execFileSync(binary, ["--version"], { encoding: "utf8" }).split("\n", 1)[0] ?? "";
    all.push(await measure(floor, nvim));
  }
});
const rows = all.flatMap((results) => results.rows);
console.log(`\n${rows.filter(isMissed).length} of ${rows.length} rows miss their goal`);
if (named.length === 0) write(all);
