/** Swaps files while the bridge reads them, as a program may do that can write only in the workspace. */
import { execFileSync } from "node:child_process";
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import t, { type Test } from "tap";
import { openWorkspace } from "../../src/model/workspace.ts";
import { createFiles } from "../../src/sharing/files.ts";
import { readState } from "../../src/system/file-state.ts";
import { temporary } from "../support/temporary.ts";

/** Number of answers of each kind after which a test ends. */
const ANSWERS = 40;

/** Creates a workspace with a file and a pipe, and a file outside the workspace. */
function start(t: Test) {
  const directory = realpathSync(temporary(t));
  const path = (...names: string[]) => join(directory, "work", ...names);
  mkdirSync(path("folder"), { recursive: true });
  mkdirSync(join(directory, "outside"));
  for (const file of [path("inside.txt"), path("folder", "file.txt")]) writeFileSync(file, "inside\n");
  writeFileSync(path(".geminiignore"), ".env\n");
  writeFileSync(path(".env"), "secret\n");
  writeFileSync(join(directory, "outside", "file.txt"), "secret\n");
  execFileSync("mkfifo", [path("pipe")]);
  symlinkSync(join(directory, "outside"), path("other"));
  return { path, outside: join(directory, "outside", "file.txt") };
}

/** Runs a step again and again in another thread, as fast as possible, until the test ends. */
async function repeat(t: Test, step: string): Promise<void> {
  const code = `
    const { parentPort } = require("node:worker_threads");
    const { renameSync, symlinkSync } = require("node:fs");
    parentPort.postMessage("started");
    for (;;) { ${step} }`;
  const worker = new Worker(code, { eval: true });
  t.teardown(() => worker.terminate());
  await new Promise((resolve) => worker.once("message", resolve));
}

/** Reads until both outcomes have come often enough, and returns all texts and refusals. */
async function readOften(read: () => Promise<string>): Promise<Set<string>> {
  const seen = new Map<string, number>();
  const often = (isText: boolean) =>
    [...seen].some(([answer, count]) => answer.startsWith("text:") === isText && count >= ANSWERS);
  while (!often(true) || !often(false)) {
    const answer = await read().then(
      (text) => `text: ${text}`,
      ({ message }: Error) => message.replaceAll(/\/\S+/g, "PATH"),
    );
    seen.set(answer, (seen.get(answer) ?? 0) + 1);
  }
  return new Set([...seen.keys()].filter((answer) => answer.startsWith("text:")));
}

const openIn = (directory: string) =>
  openWorkspace({ paused: false, exclude: [], directories: [directory] }, createFiles());

t.test(
  "a link that is swapped meanwhile leads neither outside, to an excluded file nor to a pipe",
  async (t) => {
    const { path, outside } = start(t);
    const targets = JSON.stringify([path("inside.txt"), outside, path(".env"), path("pipe")]);
    const [link, next] = [path("link"), path("next")].map((name) => JSON.stringify(name));
    symlinkSync(path("inside.txt"), path("link"));
    await repeat(
      t,
      `for (const target of ${targets}) { symlinkSync(target, ${next}); renameSync(${next}, ${link}); }`,
    );
    const texts = await readOften(async () => {
      const workspace = openIn(path());
      return workspace.read(await workspace.file(path("link")), 1000);
    });
    t.same([...texts], ["text: inside\n"]);
  },
);

t.test("a folder that is swapped with a link meanwhile does not lead outside", async (t) => {
  const { path } = start(t);
  const [folder, other, aside] = ["folder", "other", "aside"].map((name) => JSON.stringify(path(name)));
  await repeat(
    t,
    `renameSync(${folder}, ${aside}); renameSync(${other}, ${folder});
     renameSync(${folder}, ${other}); renameSync(${aside}, ${folder});`,
  );
  const file = path("folder", "file.txt");
  const texts = await readOften(async () => {
    const workspace = openIn(path());
    return workspace.read(await workspace.file(file), 1000);
  });
  t.same([...texts], ["text: inside\n"]);
  const states = await readOften(async () => {
    const state = await readState(file);
    if (state.kind !== "known") throw new Error(state.kind);
    return state.text;
  });
  t.same([...states], ["text: inside\n"]);
});
