// Runs one session with the client code of a CLI. Logs each step as one line of JSON.
// usage: node client.mjs <module of the client> <module of the context> <file for proposals> <log file>
import { appendFileSync, existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { pathToFileURL } from "node:url";

const [, , clientModule = "", contextModule = "", path = "", log = ""] = process.argv;
const load = (module) => import(pathToFileURL(module).href);
const say = (step, result) => appendFileSync(log, `${JSON.stringify({ step, result: result ?? null })}\n`);

const { IdeClient } = await load(clientModule);
const contexts = await load(contextModule);
// Gemini CLI 0.7 has renamed this export.
const context = () => contexts.ideContextStore?.get() ?? contexts.ideContext?.getIdeContext();

// Each release logs in a different way. The output must not go to the terminal.
for (const method of ["debug", "error", "log", "warn"]) console[method] = () => {};

const client = await IdeClient.getInstance();
await client.connect();
const { status, details } = client.getConnectionStatus();
say("connect", status === "connected" || client.getCurrentIde() ? (details ?? status) : "no editor detected");
if (status !== "connected") process.exit();

const active = () => context()?.workspaceState?.openFiles?.find((file) => file.isActive);
for (const end = Date.now() + 10_000; !active() && Date.now() < end; ) await delay(20);
say("context", active());

say("accept", await client.openDiff(path, "proposed\n"));
say("reject", await client.openDiff(path, "unwanted\n"));

const pending = client.openDiff(path, "undecided\n");
// The CLI would ask the user. Here, the test decides when to answer.
while (!existsSync(`${log}.go`)) await delay(20);
await client.resolveDiffFromCli(path, "accepted");
say("close", await pending);

await client.disconnect();
process.exit();
