/**
 * Finds out why a CLI does not connect, and what the user can do: `node dist/doctor.cjs [pid]`. Runs in a shell and for
 * `:GeminiDoctor`.
 */
import "../base/interpret-schemas.ts";
import { text } from "node:stream/consumers";
import { parseArgs } from "node:util";
import * as z from "zod";
import { Facts } from "../doctor/contract.ts";
import { examine, hasErrors, renderText } from "../doctor/report.ts";
import { runningClis } from "../doctor/running-clis.ts";
import { profilesOf } from "../profiles/profiles.ts";
import { platform } from "../system/platform.ts";

const USAGE = `usage: node doctor.cjs [pid]
  pid       process id of a running CLI to examine
  --list    only list the running CLIs: process id and command line
  --json    print the report as JSON
  --neovim  read facts about a Neovim as JSON from standard input
`;

const Positionals = z.union([z.tuple([z.coerce.number().int().positive()]), z.tuple([])]);

/**
 * Parses the command line.
 * @throws if the command line does not match {@link USAGE}
 */
function readArguments() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { list: { type: "boolean" }, json: { type: "boolean" }, neovim: { type: "boolean" } },
  });
  return { ...values, pid: Positionals.parse(positionals)[0] };
}

/** Runs the checks and prints the report. @returns the exit code: 1 if there is a problem */
async function run({ list, json, neovim, pid }: ReturnType<typeof readArguments>): Promise<number> {
  const facts = neovim ? Facts.parse(JSON.parse(await text(process.stdin))) : undefined;
  const table = await platform.processes();
  if (list) {
    const running = runningClis(table, profilesOf(facts?.clis));
    process.stdout.write(running.map((cli) => `${cli.pid} ${cli.command}\n`).join(""));
    return 0;
  }
  const report = await examine(table, facts, pid);
  process.stdout.write(json ? JSON.stringify(report) : `${renderText(report)}\n`);
  return hasErrors(report) ? 1 : 0;
}

try {
  const options = readArguments();
  run(options).then((code) => {
    process.exitCode = code;
  });
} catch {
  process.stderr.write(USAGE);
  process.exitCode = 2;
}
