// Plays one session with the client code of one release of Gemini CLI.
// usage: node client.mjs <package's folder> <file to propose changes of> <log of the steps, a line of JSON each>
import { appendFileSync, existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { pathToFileURL } from "node:url";

const [, , folder = "", path = "", log = ""] = process.argv;
const load = (name) => import(pathToFileURL(`${folder}/dist/src/ide/${name}.js`).href);
const say = (step, result) => appendFileSync(log, `${JSON.stringify({ step, result: result ?? null })}\n`);

const { IdeClient } = await load("ide-client");
const contexts = await load("ideContext");
// The store's name changed with 0.7.
const context = () => contexts.ideContextStore?.get() ?? contexts.ideContext?.getIdeContext();

// Each release logs in its own way; a terminal is no place for it.
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
// The CLI asks its own user meanwhile; here the test says when.
while (!existsSync(`${log}.go`)) await delay(20);
await client.resolveDiffFromCli(path, "accepted");
say("close", await pending);

await client.disconnect();
process.exit();
