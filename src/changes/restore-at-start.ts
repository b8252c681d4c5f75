/** Restores the undecided changes of an earlier host, and takes over those of ended Neovims. */
import { createYielder } from "../base/work-slices.ts";
import type { Bridge } from "../neovim/bridge.ts";
import type { Store } from "../store/store.ts";
import type { ChangedFiles } from "./changed-files.ts";
import type { DiskFollower } from "./follow-disk.ts";
import type { StoredChanges } from "./stored-changes.ts";

interface StartOptions {
  bridge: Pick<Bridge, "tell">;
  store: Pick<Store, "takeOver">;
  stored: Pick<StoredChanges, "restore">;
  files: Pick<ChangedFiles, "outline" | "restore">;
  disk: Pick<DiskFollower, "compare">;
  staging: { wrote(path: string): void; keep(): Promise<void> };
  mayStore(path: string): boolean;
  /** The directories that are open in Neovim. */
  directories: readonly string[];
  /** Number of notes that Neovim has loaded. */
  notes: number;
}

/** Tells the user how many changes of ended Neovims with the same directories are left. */
export async function restoreAtStart(options: StartOptions): Promise<void> {
  const { bridge, store, files, staging, mayStore } = options;
  await restoreStored(options); // of the earlier host of this Neovim
  await store.takeOver(options.directories);
  const taken = await restoreStored(options, mayStore);
  for (const path of taken) staging.wrote(path);
  if (taken.length > 0) await staging.keep();
  const count = taken.filter((path) => files.outline(path)).length;
  const found = [...counted(count, "unreviewed change"), ...counted(options.notes, "note")].join(" and ");
  const remedy = count > 0 ? "see :GeminiChanges" : "send them with :GeminiSend --notes";
  if (found) bridge.tell("message", { level: "info", text: `${found} from an earlier session: ${remedy}` });
}

/**
 * Restores stored changes that are not listed yet.
 * @param isWanted selects files by path
 * @returns the paths of those that are still changed
 */
async function restoreStored(
  { stored, files, disk }: StartOptions,
  isWanted = (_path: string) => true,
): Promise<string[]> {
  const yieldIfDue = createYielder();
  const paths: string[] = [];
  for (const change of stored.restore((path) => !files.outline(path) && isWanted(path))) {
    await yieldIfDue();
    files.restore(change);
    paths.push(change.path);
  }
  await disk.compare(paths);
  return paths.filter((path) => files.outline(path));
}

function counted(count: number, noun: string): string[] {
  return count === 0 ? [] : [`${count} ${noun}${count === 1 ? "" : "s"}`];
}
