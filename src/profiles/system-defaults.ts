/**
 * Settings for the CLIs in Neovim's terminals that all others win over: their system defaults, in a file that a variable
 * names (Gemini CLI's docs, reference/configuration.md). What the system has there itself stays in force over ours.
 * From 0.60.0 on Gemini CLI believes such a file only where nobody but root can change it.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import stripJsonComments from "strip-json-comments";
import * as z from "zod";
import { Refusal } from "../base/refusal.ts";
import { isAlive } from "../system/processes.ts";
import { insecurity } from "../system/secure.ts";
import { readSmallFile } from "../system/small-file.ts";
import type { Variables } from "../system/system.ts";
import { type Profile, systemPaths } from "./profiles.ts";

/** All that a settings file says, known to us or not. */
const RawSettings = z.record(z.string(), z.json());
export type RawSettings = z.infer<typeof RawSettings>;

export interface WrittenDefaults {
  /** For the CLIs' environment; nothing where ours are left out. */
  readonly path?: string;
  /** Why ours are left out, as a sentence. */
  readonly obstacle?: string;
  /** Deletes the file, synchronously, so that it also works in a signal handler. May run twice. */
  remove(): void;
}

/**
 * Writes the file. It never fails: without it the CLI asks, as it does elsewhere.
 * @param directory for the file, made where it is missing; absolute
 * @param parts our settings, the first the strongest
 * @param env Neovim's environment, which says where the system's own file is
 */
export function writeSystemDefaults(
  { name, defaults }: Pick<Profile, "name" | "defaults">,
  directory: string,
  parts: readonly RawSettings[],
  env: Variables,
): WrittenDefaults {
  // Homes are shared by machines and containers, in which process ids are others.
  const prefix = `system-defaults-${encodeURIComponent(hostname())}-`;
  const path = join(directory, `${prefix}${process.pid}-${name}.json`);
  const remove = () => unlink(path);
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
    const reason = error instanceof Error ? error.message : String(error);
    return { obstacle: reason, remove };
  }
}

/** @throws {Refusal} where ours would give force to what the CLI passes over, or hide what it complains of */
function readSystem(path: string, check: (path: string) => void): RawSettings {
  if (!existsSync(path)) return {};
  check(path);
  try {
    return RawSettings.parse(JSON.parse(stripJsonComments(readSmallFile(path)?.text ?? "{}")));
  } catch (error) {
    throw new Refusal(error instanceof Refusal ? `${path} ${error.message}` : `${path} is no JSON object`);
  }
}

/** @throws {Refusal} when the CLI would warn of the file and pass it over */
function checkOwner(path: string): void {
  const reason = insecurity(path);
  if (reason !== undefined) throw new Refusal(`the CLI would not take ${path}: ${reason}`);
}

/** Written beside and renamed, so that a CLI that starts meanwhile sees all of it or nothing. */
function write(path: string, text: string): void {
  const draft = `${path}.tmp`;
  rmSync(draft, { force: true });
  writeFileSync(draft, text, { mode: 0o600, flag: "wx" });
  renameSync(draft, path);
}

/** Files of hosts on this machine that were killed. */
function removeLeftovers(directory: string, prefix: string): void {
  for (const name of readdirSync(directory).filter((each) => each.startsWith(prefix))) {
    const pid = Number.parseInt(name.slice(prefix.length), 10);
    if (!isAlive(pid)) unlink(join(directory, name));
  }
}

function unlink(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Gone already, or never made.
  }
}

/** What only one of them says, and of what both say the word of `over`. */
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
