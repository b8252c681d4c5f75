/** Mounts a folder whose file server can stop answering. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, realpathSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Scope } from "./scope.ts";

/** A mounted folder with one file. After the file server has stopped answering, readers wait. */
export interface NetworkFolder {
  path: string;
  /** Path of the file. */
  file: string;
  /** Makes the file server stop answering. The promise resolves when this is done. */
  fallSilent(): Promise<void>;
  answer(): Promise<void>;
}

/** Mounts the folder with FUSE. Needs root. */
export async function mountNetworkFolder(t: Scope, text: string): Promise<NetworkFolder> {
  const path = join(realpathSync(mkdtempSync(join(tmpdir(), "gb-net-"))), "mnt");
  mkdirSync(path);
  const name = "remote.txt";
  const server = spawn(process.execPath, [join(import.meta.dirname, "fuse.mjs"), path, name, text], {
    stdio: ["pipe", "pipe", "pipe"],
  });
  const ended = once(server, "exit");
  t.teardown(async () => {
    server.kill("SIGKILL"); // all waiting readers get an error
    await ended;
    spawnSync("umount", ["-l", path]);
    rmdirSync(path);
    rmdirSync(join(path, ".."));
  });
  const lines = createInterface({ input: server.stdout });
  const said = once(lines, "line").then(([line]) => line === "ready");
  // The kernel sends a first request when the folder is mounted.
  if (!(await Promise.race([said, ended.then(() => false)])))
    throw new Error("the network folder could not be mounted");
  const tell = async (word: string) => {
    const done = once(lines, "line");
    server.stdin.write(`${word}\n`);
    await done;
  };
  return {
    path,
    file: join(path, name),
    fallSilent: () => tell("silent"),
    answer: () => tell("answer"),
  };
}
