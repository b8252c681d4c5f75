/**
 * Edits of the user's in a proposal that the CLI did not take: Qwen Code 0.24.4 asks what the proposal holds when the
 * user says "yes" in its terminal, and writes it as it came. Known by what is on disk then, of whatever CLI.
 */
import { setTimeout as delay } from "node:timers/promises";
import { hashOfPlain, readDiskText, readVersion } from "../system/disk-text.ts";

/** So often the file is looked at, and so long: the CLI writes as soon as it has its answer (milliseconds). */
const INTERVAL = 100;
const PATIENCE = 10_000;

export interface Closed {
  filePath: string;
  /** What the proposal held at last. */
  content: string;
  /** The hash of the proposal as it came, see {@link hashOfPlain}. */
  proposed: string;
}

/**
 * Waits for what becomes of the file.
 * @returns whether it got the proposal as it came, although the user had edited it
 */
export async function areDropped(
  { filePath, content, proposed }: Closed,
  signal: AbortSignal,
): Promise<boolean> {
  const edited = hashOfPlain(content);
  if (edited === proposed) return false;
  let seen: string | undefined;
  for (const end = Date.now() + PATIENCE; Date.now() < end && !signal.aborted; ) {
    const version = await readVersion(filePath);
    if (version !== seen) {
      seen = version;
      const { bytes } = await readDiskText(filePath);
      const found = bytes && hashOfPlain(bytes);
      if (found === proposed) return true;
      if (found === edited) return false;
    }
    await delay(INTERVAL, undefined, { ref: false, signal }).catch(() => {});
  }
  return false;
}
