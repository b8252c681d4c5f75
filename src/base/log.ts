/** The log file. Nothing may reach standard output: it is the RPC channel. */
import { appendFileSync, mkdirSync, renameSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { inspect } from "node:util";

const LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LEVELS)[number];

/** A longer file is set aside as `<name>.old` (bytes). */
const MAX_SIZE = 1_000_000;

/** Lines that wait for the file: a host learns where it is from Neovim. */
const MAX_WAITING = 100;

/** Writes one line a message; details are inspected. Never pass a token, nor what a file holds. */
export interface Log extends Record<LogLevel, (message: string, ...details: unknown[]) => void> {
  /** Where the lines go from now on, and those that wait. The file is touched when the first one is written. */
  open(file: string, level: LogLevel): void;
}

/** A log that cannot be written loses its lines and nothing else. */
export function createLog(): Log {
  let target: { file: string; level: LogLevel } | undefined;
  const waiting: [LogLevel, string][] = [];

  function write(at: LogLevel, line: string): void {
    if (!target) {
      if (waiting.length < MAX_WAITING) waiting.push([at, line]);
    } else if (LEVELS.indexOf(at) >= LEVELS.indexOf(target.level)) append(target.file, line);
  }

  const writer =
    (at: LogLevel) =>
    (message: string, ...details: unknown[]): void => {
      if (target && LEVELS.indexOf(at) < LEVELS.indexOf(target.level)) return;
      const text = [message, ...details.map((detail) => inspect(detail, { depth: 4 }))].join(" ");
      write(at, `${new Date().toISOString()} ${at.toUpperCase()} [${process.pid}] ${text}\n`);
    };

  return {
    debug: writer("debug"),
    info: writer("info"),
    warn: writer("warn"),
    error: writer("error"),
    open(file, level) {
      target = { file, level };
      for (const [at, line] of waiting.splice(0)) write(at, line);
    },
  };
}

function append(file: string, line: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true });
    // Asked each time: other Neovims write to the same file.
    if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > MAX_SIZE) renameSync(file, `${file}.old`);
    appendFileSync(file, line, { mode: 0o600 });
  } catch {
    // A full disk or a read-only home must not take the bridge down.
  }
}
