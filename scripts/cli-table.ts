// Generates the README's table of the supported CLIs from their profiles.
// usage: cli-table.ts [--check]    --check writes nothing, and fails if the table differs
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { defaultSettings } from "../src/profiles/default-settings.ts";
import { launchArguments, launchVariables } from "../src/profiles/launch-arguments.ts";
import { type Profile, profilesOf } from "../src/profiles/profiles.ts";

const README = join(import.meta.dirname, "../README.md");
const [START, END] = ["<!-- clis:start -->\n", "<!-- clis:end -->"];
const HEADER = ["CLI", "Start", "Context", "Reviews", "Changes, turns", "Gate", "Tools"];

const yes = (is: boolean) => (is ? "yes" : "no");

function row(profile: Profile): string[] {
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

const lines = [HEADER, HEADER.map(() => "---"), ...profilesOf().map(row)];
const table = `${lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n")}\n`.replaceAll(" --- ", "---");
const before = readFileSync(README, "utf8");
const [head, rest] = before.split(START);
const [, tail] = rest?.split(END) ?? [];
if (head === undefined || tail === undefined) throw new Error(`README.md needs ${START.trim()} and ${END}`);
const after = head + START + table + END + tail;
if (!process.argv.includes("--check")) writeFileSync(README, after);
else if (after !== before) {
  console.error("README.md: the table of CLIs is out of date; run: make doc");
  process.exitCode = 1;
}
