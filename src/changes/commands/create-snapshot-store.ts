/** Creates the private bare Git repository that stores snapshots. */
import { randomUUID } from "node:crypto";
import { appendFileSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Root } from "./find-root.ts";
import { runGit } from "./run-git.ts";

const CONFIG = `
[core]
	fsmonitor = false
	untrackedCache = false
	protectNTFS = false
	protectHFS = false
	precomposeUnicode = false
	hooksPath = /dev/null
	attributesFile = /dev/null
	excludesFile = /dev/null
	autocrlf = false
	fileMode = true
	symlinks = true
	splitIndex = false
	compression = 0
	looseCompression = 0
[gc]
	auto = 0
`;

interface StoreOptions {
  /** Directory of the store. Only the user may read it. */
  readonly directory: string;
  readonly root: Root;
  readonly isIgnoringCase: boolean;
  /** Ends Git. */
  readonly signal: AbortSignal;
}

/**
 * Creates an empty store in place of an incomplete one. If another Neovim creates it meanwhile, keeps the other store.
 * @throws {GitFailure} @throws the errors of node:fs
 */
export async function createSnapshotStore(options: StoreOptions): Promise<void> {
  const { directory, root, isIgnoringCase, signal } = options;
  const draft = `${directory}.${randomUUID()}`;
  mkdirSync(draft, { recursive: true, mode: 0o700 });
  try {
    await runGit({
      cwd: draft,
      args: ["init", "-q", "--bare", "--template=", `--object-format=${root.format}`, draft],
      env: { GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null" },
      signal,
    });
    mkdirSync(join(draft, "info"), { recursive: true });
    appendFileSync(join(draft, "config"), `${CONFIG}[core]\n\tignoreCase = ${isIgnoringCase}\n`);
    writeFileSync(attributesIn(draft), "* -text -eol -filter -ident -working-tree-encoding\n");
    if (isComplete(directory)) return;
    rmSync(directory, { recursive: true, force: true });
    renameSync(draft, directory);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** Returns whether a directory contains a complete store. */
export function isComplete(directory: string): boolean {
  return existsSync(attributesIn(directory));
}

/** Lets the next use of a store create it again. */
export function markIncomplete(directory: string): void {
  rmSync(attributesIn(directory), { force: true });
}

function attributesIn(directory: string): string {
  return join(directory, "info/attributes");
}
