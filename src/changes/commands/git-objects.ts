/** Names, reads and compares Git objects. */
import { createHash } from "node:crypto";
import { GitFailure, splitParts } from "./run-git.ts";

/** Returns the name that Git gives to an object with these bytes. @param length hexadecimal digits of the name */
export function objectName(bytes: Buffer, length: number): string {
  const hash = createHash(length === 64 ? "sha256" : "sha1");
  return hash.update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
}

/**
 * Parses the output of `git cat-file --batch`. Yields the bytes of each object; undefined if the object is missing, or
 * if its bytes do not match its name. A hostile repository may contain such an object.
 * @throws {GitFailure} if the output ends early
 */
export async function* readObjects(
  objects: readonly string[],
  output: AsyncGenerator<Buffer>,
): AsyncGenerator<Buffer | undefined> {
  let rest: Buffer = Buffer.alloc(0);
  const readUntil = async (isEnough: () => boolean) => {
    const chunks = [rest];
    while (!isEnough()) {
      const { value, done } = await output.next();
      if (done) throw new GitFailure("cat-file has ended early");
      chunks.push(value);
      rest = Buffer.concat(chunks);
    }
  };
  for (const object of objects) {
    await readUntil(() => rest.includes("\n"));
    const end = rest.indexOf("\n");
    const [, type, size] = rest.toString("latin1", 0, end).split(" ");
    rest = rest.subarray(end + 1);
    if (type !== "blob") {
      yield undefined; // Git prints only one line for a missing object
      continue;
    }
    const length = Number(size);
    await readUntil(() => rest.length > length);
    const bytes = rest.subarray(0, length);
    rest = rest.subarray(length + 1);
    yield objectName(bytes, object.length) === object ? bytes : undefined;
  }
  await output.return(undefined);
}

/** A name that differs between two trees. A mode is Git's, such as "100644", or "000000" if there was no file. */
export interface NamedDifference {
  readonly name: string;
  readonly modeBefore: string;
  readonly modeAfter: string;
  readonly objectBefore: string;
  readonly objectAfter: string;
}

/** Parses the output of `git diff-tree -r -z`. */
export async function* parseDifferences(output: AsyncIterable<Buffer>): AsyncGenerator<NamedDifference> {
  let facts: string | undefined;
  for await (const parts of splitParts(output))
    for (const part of parts) {
      if (facts === undefined) {
        facts = part;
        continue;
      }
      const [modeBefore = "", modeAfter = "", objectBefore = "", objectAfter = ""] = facts
        .slice(1)
        .split(" ");
      facts = undefined;
      yield { name: part, modeBefore, modeAfter, objectBefore, objectAfter };
    }
}
