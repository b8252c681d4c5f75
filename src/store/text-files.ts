/**
 * Stores texts in files that are named by the hash of their content. A text is written only once, however many entries
 * refer to it.
 */
import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { attempt } from "../base/attempt.ts";

interface TextFiles {
  /**
   * Stores a text. Each character stands for one byte.
   * @returns the SHA-256 hash and the number of bytes
   * @throws the errors of node:fs
   */
  put(text: string): { hash: string; size: number };
  /** @param other folder of another Neovim that has the text @returns undefined if the text is missing or damaged */
  read(hash: string, other?: string): string | undefined;
  /** Takes over a text from another Neovim's folder, if it exists there. @throws the errors of node:fs */
  adopt(hash: string, other: string): void;
  /** Removes all texts except the used ones. Yields after each text, so that the caller can pause. */
  removeExcept(used: ReadonlySet<string>): Generator<void, void>;
}

/** @param folder folder of a Neovim. The texts are in a folder below */
export function createTextFiles(folder: string): TextFiles {
  const texts = textsOf(folder);
  /** Names of the files, including incomplete files that a crash has left. */
  const known = new Set(attempt(() => readdirSync(texts)));

  return {
    put(text) {
      const bytes = Buffer.from(text, "latin1");
      const hash = hashOf(bytes);
      if (!known.has(hash)) replaceFile(join(texts, hash), bytes);
      known.add(hash);
      return { hash, size: bytes.length };
    },
    read(hash, other) {
      const bytes = attempt(() => readFileSync(join(other === undefined ? texts : textsOf(other), hash)));
      if (bytes && hashOf(bytes) === hash) return bytes.toString("latin1");
      if (other === undefined) known.delete(hash); // a later `put` writes the text again
      return undefined;
    },
    adopt(hash, other) {
      const [from, to] = [join(textsOf(other), hash), join(texts, hash)];
      if (known.has(hash) || !existsSync(from)) return;
      mkdirSync(texts, { recursive: true, mode: 0o700 });
      // Keeps the text in the other folder until the lists are written. Not all file systems have links.
      if (!attempt(() => linkSync(from, to) ?? true)) copyFileSync(from, to);
      known.add(hash);
    },
    *removeExcept(used) {
      for (const name of known) {
        if (used.has(name)) continue;
        rmSync(join(texts, name), { force: true });
        known.delete(name);
        yield;
      }
    },
  };
}

/**
 * Replaces a file atomically. Only the user can read the file and its folder, which is created if needed.
 * @throws the errors of node:fs
 */
export function replaceFile(path: string, content: string | Buffer): void {
  const draft = `${path}.tmp`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(draft, content, { mode: 0o600 });
    renameSync(draft, path);
  } catch (error) {
    attempt(() => rmSync(draft, { force: true }));
    throw error;
  }
}

function textsOf(folder: string): string {
  return join(folder, "texts");
}

function hashOf(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}
