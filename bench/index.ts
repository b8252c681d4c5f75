/** `make bench`: measures, prints the table, and writes bench/results.json and bench/results.md. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, release, totalmem, type } from "node:os";
import { join } from "node:path";
import { root } from "../test/support/nvim.ts";
import { buildFloor } from "./floor/floor.ts";
import { groups } from "./groups.ts";
import { comparePeer } from "./peers/index.ts";
import { within } from "./subject.ts";
import { formatMarkdown, formatTerminal, isMissed, type Results, type Row } from "./table.ts";

/** Names of the groups on the command line. Without names, all groups are measured. */
const named = process.argv.slice(2);
const wanted = Object.keys(groups).filter((name) => named.length === 0 || named.includes(name));

const machine = [
  `${cpus().length} × ${cpus()[0]?.model.trim() ?? "processor"}`,
  `${Math.round(totalmem() / 1e9)} GB`,
  `${type()} ${release().split("-", 1)[0]}`,
  `Node ${process.version}`,
].join(", ");

const file = (name: string) => join(import.meta.dirname, name);

/** Merges the new rows into the earlier results, if only some groups were measured. */
function merge(now: readonly Results[]): Results[] {
  if (named.length === 0 || !existsSync(file("results.json"))) return [...now];
  const before: { results: Results[] } = JSON.parse(readFileSync(file("results.json"), "utf8"));
  return before.results.map((results) => {
    const fresh = now.find(({ nvim }) => nvim === results.nvim)?.rows ?? [];
    const others = fresh.filter(({ name }) => !results.rows.some((row) => row.name === name));
    const rows = results.rows.map((row) => fresh.find(({ name }) => name === row.name) ?? row);
    return { ...results, rows: [...rows, ...others] };
  });
}

function write(results: readonly Results[]): void {
  const date = new Date().toISOString().slice(0, 10);
  writeFileSync(file("results.json"), `${JSON.stringify({ date, machine, results }, null, 1)}\n`);
  const head = [
    "# Results",
    "",
    `Made by \`make bench\` on ${date}: ${machine}.`,
    "The [README](README.md) explains each row.",
    "",
  ];
  writeFileSync(file("results.md"), [...head, ...results.map(formatMarkdown)].join("\n"));
}

function measure(floor: string, nvim: string): Results {
  const results: Results = { nvim, rows: [] };
  for (const name of wanted) {
    const start = performance.now();
    const measured = execFileSync(
      process.execPath,
      ["--import", "./scripts/typescript.mjs", file("group.ts"), name, floor],
      { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] },
    );
    results.rows.push(...(JSON.parse(measured) as Row[]));
    console.error(`${nvim}: ${name}, ${((performance.now() - start) / 1000).toFixed(0)} s`);
  }
  console.log(formatTerminal(results));
  return results;
}

// Suppresses Node's warnings about too many listeners: the client adds a listener for each request, and some rows send
// a thousand requests.
process.removeAllListeners("warning");

const binaries = execFileSync(join(root, "scripts/nvim.sh"), { encoding: "utf8" }).trim().split("\n");
const peer = process.env["PEER"];
const all: Results[] = [];
await within(async (scope) => {
  const floor = await buildFloor(scope);
  for (const binary of binaries) {
    process.env["NVIM_BIN"] = binary; // the test helpers start this Neovim
    const nvim = execFileSync(binary, ["--version"], { encoding: "utf8" }).split("\n", 1)[0] ?? "";
    if (peer) await comparePeer(peer, floor, nvim, named);
    else all.push(measure(floor, nvim));
  }
});
const rows = all.flatMap((results) => results.rows);
if (!peer) console.log(`\n${rows.filter(isMissed).length} of ${rows.length} rows miss their goal`);
if (!peer) write(merge(all));
