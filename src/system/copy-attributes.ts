/**
 * Copies the metadata of open files with `cp`, because Node has no function for access control lists and extended
 * attributes. A path may lead to another file by now, therefore `cp` gets the open files.
 */
import { spawn } from "node:child_process";
import { Socket } from "node:net";
import { attempt } from "../base/attempt.ts";
import { platform } from "./platform.ts";
import { runWithFiles } from "./program.ts";

/** Timeout for one file (ms). */
const TIMEOUT_MS = 3_000;

/** Time after which an unused shell ends (ms). */
const IDLE_MS = 1_000;

/** Copies one pair of files per line of input. Prints 0 for success. */
const SCRIPT = 'while read -r from to; do cp "$@" -- "$from" "$to" && echo 0 || echo 1; done';

type Copy = (from: string, to: string) => Promise<boolean>;
let running: Copy | undefined;

/**
 * Copies all metadata between open files.
 * @param from file descriptor
 * @param to file descriptor
 * @returns false on failure
 */
export function copyAttributes(from: number, to: number): Promise<boolean> {
  const { pathOfOpenFile, attributeCopy } = platform;
  if (!pathOfOpenFile)
    return runWithFiles("cp", [...attributeCopy, "--", "/dev/fd/3", "/dev/fd/4"], [from, to]);
  running ??= startShell();
  return running(pathOfOpenFile(from), pathOfOpenFile(to));
}

/**
 * Starts a shell that runs `cp` for many files: a process as large as the host needs milliseconds for each process that
 * it starts. The shell ends with the host, because its input ends.
 */
function startShell(): Copy {
  const shell = spawn("sh", ["-c", SCRIPT, "sh", ...platform.attributeCopy], {
    stdio: ["pipe", "pipe", "ignore"],
    detached: true, // so that a hanging `cp` is killed with the shell
  });
  const waiting: ((isCopied: boolean) => void)[] = [];
  const idle = setTimeout(() => {
    if (waiting.length > 0) return idle.refresh();
    forget();
    return shell.stdin.end();
  }, IDLE_MS).unref();
  const { pid } = shell;
  const kill = () => pid && attempt(() => process.kill(-pid, "SIGKILL"));

  function forget(): void {
    clearTimeout(idle);
    if (running === copy) running = undefined;
  }

  function end(): void {
    forget();
    for (const answer of waiting.splice(0)) answer(false);
  }

  const copy: Copy = (from, to) =>
    new Promise((resolve) => {
      const timer = setTimeout(kill, TIMEOUT_MS);
      idle.refresh();
      waiting.push((isCopied) => {
        clearTimeout(timer);
        resolve(isCopied);
      });
      shell.stdin.write(`${from} ${to}\n`);
    });

  // The shell does not keep the process of the host alive.
  shell.unref();
  for (const pipe of [shell.stdin, shell.stdout]) if (pipe instanceof Socket) pipe.unref();
  shell.stdin.on("error", end);
  shell.stdout.setEncoding("latin1").on("data", (text: string) => {
    for (const [sign] of text.matchAll(/[01]/g)) waiting.shift()?.(sign === "0");
  });
  shell.on("error", end).on("exit", end);
  return copy;
}
