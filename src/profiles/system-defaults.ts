/**
 * Writes a file with default settings for the CLIs in Neovim's terminals. This file has the lowest priority of all
 * settings.
 * An environment variable tells the CLIs the path of the file (Gemini CLI's docs, reference/configuration.md). Values
 * in the machine's own system defaults take precedence. Since 0.60.0, Gemini CLI uses such a file only if nobody but
 * root can change the file.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { attempt } from "../base/attempt.ts";
import { Refusal } from "../base/refusal.ts";
import { isAlive } from "../system/processes.ts";
import { insecurity } from "../system/root-only-file.ts";
import type { Variables } from "../system/system.ts";
import { type Profile, systemPaths } from "./profiles.ts";
import { type RawSettings, readSettingsFile } from "./settings.ts";

interface WrittenDefaults {
  /** Path of the file, for the CLIs' environment; undefined if no file was written. */
  readonly path?: string;
  /** Reason why no file was written, as a sentence. */
  readonly obstacle?: string;
  /** Deletes the file. Synchronous, so that a signal handler can call this. Idempotent. */
  remove(): void;
}

/**
 * Writes the system defaults file. Never throws: without the file, the CLI asks the user whether to connect.
 * @param place absolute path of the file's directory, which is created if it is missing; process id of Neovim
 * @param parts the plugin's settings, those with higher priority first
 * @param env Neovim's environment, which may contain the path of the machine's own system defaults
 */
export function writeSystemDefaults(
  { name, defaults }: Pick<Profile, "name" | "defaults">,
  { directory, editorPid }: { directory: string; editorPid: number },
  parts: readonly RawSettings[],
  env: Variables,
): WrittenDefaults {
  // Includes the host name: machines and containers may share the home directory, but have different processes with the
  // same id. Includes Neovim's process id, not that of the host: the path stays the same after a restart of the host,
  // because shells that were opened before still contain the path in their environment.
  const prefix = `system-defaults-${encodeURIComponent(hostname())}-`;
  const path = join(directory, `${prefix}${editorPid}-${name}.json`);
  const remove = () => void attempt(() => unlinkSync(path)); // the file may be deleted already, or never written
  if (parts.length === 0 || !defaults) return { remove };
  const check = defaults.isRootsOnly ? checkOwner : () => {};
  try {
    const settings = [readSystem(systemPaths(defaults, env).defaults, check), ...parts].reduceRight(
      merge,
      {},
    );
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    removeLeftovers(directory, prefix);
    write(path, JSON.stringify(settings));
    check(path);
    return { path, remove };
  } catch (error) {
    remove();
    return { obstacle: error instanceof Error ? error.message : String(error), remove };
  }
}

/**
 * Reads the file with the default settings that an administrator has made for the CLI on this machine.
 * @throws {Refusal} if the CLI would ignore or reject that file. Its content must not take effect through the plugin's
 * file
 */
function readSystem(path: string, check: (path: string) => void): RawSettings {
  if (!existsSync(path)) return {};
  check(path);
  const { settings, problem } = readSettingsFile(path);
  if (problem !== undefined)
    throw new Refusal(`the CLI's file with system-wide default settings, ${path}, ${problem}`);
  return settings;
}

/** @throws {Refusal} if the CLI would ignore the file, because a user other than root can change the file */
function checkOwner(path: string): void {
  const reason = insecurity(path);
  if (reason !== undefined)
    throw new Refusal(
      `the CLI uses default settings only from a regular file that nobody but root can change: ${reason}`,
    );
}

/** Writes a draft and renames it, so that a starting CLI never reads an incomplete file. */
function write(path: string, text: string): void {
  const draft = `${path}.tmp`;
  rmSync(draft, { force: true });
  writeFileSync(draft, text, { mode: 0o600, flag: "wx" });
  renameSync(draft, path);
}

/** Deletes the files of Neovims on this machine that have ended without deleting them. */
function removeLeftovers(directory: string, prefix: string): void {
  for (const name of readdirSync(directory).filter((each) => each.startsWith(prefix))) {
    const pid = Number.parseInt(name.slice(prefix.length), 10);
    if (!isAlive(pid)) attempt(() => unlinkSync(join(directory, name)));
  }
}

/** Merges two settings objects. If both have a value for a key, the value in `over` wins. */
function merge(under: RawSettings, over: RawSettings): RawSettings {
  const merged = Object.entries(over).map(([key, value]) => {
    const below = Object.hasOwn(under, key) ? under[key] : undefined;
    return [key, isGroup(value) && isGroup(below) ? merge(below, value) : value];
  });
  return { ...under, ...Object.fromEntries(merged) };
}

function isGroup(value: unknown): value is RawSettings {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
