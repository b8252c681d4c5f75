/** Rejects reviews, removes the host's files and ends the host when Neovim ends, even if Neovim was killed. */
import type { Log } from "../base/log.ts";
import { disk } from "../system/disk.ts";
import type { Editor } from "./bridge.ts";

/**
 * Ends the process when Neovim ends. A normal exit of Neovim sends a signal. If Neovim was killed, only the channel
 * closes.
 * @param rejectReviews rejects the reviews of CLIs that would hang, synchronously
 * @param abandon removes the host's files synchronously; must be idempotent
 */
export function exitWithEditor(nvim: Editor, rejectReviews: () => void, abandon: () => void): void {
  const leave = () => {
    try {
      rejectReviews();
    } finally {
      abandon();
      exitNow();
    }
  };
  nvim.on("disconnect", leave);
  for (const signal of ["SIGTERM", "SIGHUP", "SIGINT"] as const) process.on(signal, leave);
  process.on("exit", abandon);
}

/** Ends the process after an uncaught error. Lua restarts the host and shows the last line of standard error. */
export function exitOnFailure(log: () => Log | undefined): void {
  for (const failure of ["uncaughtException", "unhandledRejection"] as const) {
    process.on(failure, (error: unknown) => {
      log()?.error(`${failure}:`, error);
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
      exitNow(1);
    });
  }
}

/**
 * Ends the process at once. If a thread is still reading a network drive, kills the process: a normal exit would wait
 * for that thread.
 */
export function exitNow(code = 0): never {
  if (disk.isWaiting()) process.kill(process.pid, "SIGKILL");
  process.exit(code);
}
