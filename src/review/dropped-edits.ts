/**
 * Detects that a CLI has dropped the user's edits of a proposed text. Qwen Code 0.24.4 asks for the edited text when
 * the user says "yes" in the terminal, but then writes the original proposal. The file on disk shows which text was
 * written.
 */
import { setTimeout as delay } from "node:timers/promises";
import { hashOfPlain, readDiskText, readVersion } from "../system/disk-text.ts";

/** Interval and timeout for polling the file. The CLI writes the file soon after the user's answer. */
const INTERVAL_MS = 100;
const TIMEOUT_MS = 10_000;

interface ClosedReview {
  filePath: string;
  /** Proposed text, including the user's edits. */
  content: string;
  /** Hash of the originally proposed text, see {@link hashOfPlain}. */
  proposed: string;
}

/**
 * Waits until the CLI has written the file.
 * @returns true if the CLI has written the original proposal instead of the text that the user edited
 */
export async function areDropped(
  { filePath, content, proposed }: ClosedReview,
  signal: AbortSignal,
): Promise<boolean> {
  const edited = hashOfPlain(content);
  if (edited === proposed) return false;
  let seen: string | undefined;
  for (const end = Date.now() + TIMEOUT_MS; Date.now() < end && !signal.aborted; ) {
    const version = await readVersion(filePath);
    if (version !== seen) {
      seen = version;
      const { bytes } = await readDiskText(filePath);
      const found = bytes && hashOfPlain(bytes);
      if (found === proposed) return true;
      if (found === edited) return false;
    }
    await delay(INTERVAL_MS, undefined, { ref: false, signal }).catch(() => {});
  }
  return false;
}
