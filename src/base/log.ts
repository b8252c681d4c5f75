/** Writes the log file. The log must not go to standard output, because standard output is the RPC channel. */
import { appendFileSync, mkdirSync, renameSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { inspect } from "node:util";

const LEVELS = ["debug", "info", "warn", "error"] as const;
type LogLevel = (typeof LEVELS)[number];

/** Maximum size of the log. A larger log file is renamed to `<name>.old`. */
const MAX_SIZE_BYTES = 1_000_000;

/** Maximum number of lines that are buffered until the host knows the path of the log. */
const MAX_BUFFERED_LINES = 100;

/**
 * Each method writes one line: the message, and the details as formatted by `inspect`. Tokens and the content of files
 * must not be logged.
 */
export interface Log extends Record<LogLevel, (message: string, ...details: unknown[]) => void> {
  /** Sets the file and the level, and writes the buffered lines. The file is created with the first line. */
  open(file: string, level: LogLevel): void;
}

/** Creates a log. If the log file cannot be written, lines are lost, but the bridge keeps running. */
export function createLog(): Log {
  let target: { file: string; level: LogLevel } | undefined;
  const buffered: [LogLevel, string][] = [];
  const isLogged = (level: LogLevel, lowest: LogLevel) => LEVELS.indexOf(level) >= LEVELS.indexOf(lowest);

  const writer =
    (level: LogLevel) =>
    (message: string, ...details: unknown[]): void => {
      if (target && !isLogged(level, target.level)) return;
      // A name of a tool or file could otherwise forge lines of the log.
      const printable = message.replace(/\p{Cc}+/gu, " ");
      const text = [printable, ...details.map((detail) => inspect(detail, { depth: 4 }))].join(" ");
      const line = `${new Date().toISOString()} ${level.toUpperCase()} [${process.pid}] ${text}\n`;
      if (target) append(target.file, line);
      else if (buffered.length < MAX_BUFFERED_LINES) buffered.push([level, line]);
    };

  return {
    debug: writer("debug"),
    info: writer("info"),
    warn: writer("warn"),
    error: writer("error"),
    open(file, level) {
      target = { file, level };
      for (const [each, line] of buffered.splice(0)) if (isLogged(each, level)) append(file, line);
    },
  };
}

function append(file: string, line: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true });
    // Checks the size before each line, because other Neovims write to the same file.
    if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > MAX_SIZE_BYTES)
      renameSync(file, `${file}.old`);
    appendFileSync(file, line, { mode: 0o600 });
  } catch {
    // The disk may be full or the home read-only. The bridge must keep running.
  }
}
