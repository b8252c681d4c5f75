/** The log file. Nothing may reach standard output: it is the RPC channel. */
import { appendFileSync, mkdirSync, renameSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { inspect } from "node:util";

const LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LEVELS)[number];

/** A longer file is set aside as `<name>.old` when the log is opened (bytes). */
const MAX_SIZE = 1_000_000;

/** Writes one line a message; details are inspected. Never pass a token. */
export type Log = Record<LogLevel, (message: string, ...details: unknown[]) => void>;

/**
 * Opens the log at `file`. The file is touched when the first line is written.
 * A log that cannot be written loses its lines and nothing else.
 */
export function openLog(file: string, level: LogLevel): Log {
  let prepared = false;
  const write = (at: LogLevel, message: string, details: unknown[]) => {
    if (LEVELS.indexOf(at) < LEVELS.indexOf(level)) return;
    const text = [message, ...details.map((detail) => inspect(detail, { depth: 4 }))].join(" ");
    try {
      if (!prepared) prepare(file);
      prepared = true;
      appendFileSync(file, `${new Date().toISOString()} ${at.toUpperCase()} [${process.pid}] ${text}\n`, {
        mode: 0o600,
      });
    } catch {
      // A full disk or a read-only home must not take the bridge down.
    }
  };
  return {
    debug: (message, ...details) => write("debug", message, details),
    info: (message, ...details) => write("info", message, details),
    warn: (message, ...details) => write("warn", message, details),
    error: (message, ...details) => write("error", message, details),
  };
}

function prepare(file: string): void {
  mkdirSync(dirname(file), { recursive: true });
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > MAX_SIZE) renameSync(file, `${file}.old`);
}
