/** How the host's process ends, and that nothing of it stays behind. */

import type { Log } from "../base/log.ts";
import { disk } from "../system/disk.ts";
import type { Editor } from "./bridge.ts";

/**
 * Ends the process with its Neovim. One that was killed shows in its closed channel only; one that quits ends its
 * children by signal, and none of their handlers but those for signals runs.
 * @param abandon removes what would outlive the process, synchronously; may run twice
 */
export function exitWithEditor(nvim: Editor, abandon: () => void): void {
  const leave = () => {
    abandon();
    exitNow();
  };
  nvim.on("disconnect", leave);
  for (const signal of ["SIGTERM", "SIGHUP", "SIGINT"] as const) process.on(signal, leave);
  process.on("exit", abandon);
}

/** Ends the process at an error that nobody caught: Lua starts another, and says the last line of standard error. */
export function exitOnFailure(log: () => Log | undefined): void {
  for (const failure of ["uncaughtException", "unhandledRejection"] as const) {
    process.on(failure, (error: unknown) => {
      log()?.error(`${failure}:`, error);
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
      exitNow(1);
    });
  }
}

/** Ends the process at once. Node would wait for its threads, and one that asks a dead network never comes back. */
export function exitNow(code = 0): never {
  if (disk.isWaiting()) process.kill(process.pid, "SIGKILL");
  process.exit(code);
}
