// V8's code cache of the bundle as a file. V8 believes what it is given: compiled code in which a single bit is wrong
// can crash the process. So the file begins with a hash of what it was made for and of the code itself.
"use strict";

const { createHash } = require("node:crypto");
const {
  accessSync,
  constants,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} = require("node:fs");
const path = require("node:path");

const HASH = "sha256";
const LENGTH = 32;

/** Nobody makes a cache for that long: who began has died (milliseconds). */
const ABANDONED = 60_000;

/** The cache of this very build, Node and machine in a directory. */
function createCache(directory, build) {
  const name = `${build}-${process.version}-${process.arch}`;
  const file = path.join(directory, `${name}.cache`);
  const lock = `${file}.lock`;
  // The name is in the hash, too: a file of another version's may have been copied or linked to it.
  const hash = (code) => createHash(HASH).update(name).update("\0").update(code).digest();
  return {
    /** The code, if it is all there and as it was made. */
    read() {
      let content;
      try {
        content = readFileSync(file);
      } catch {
        return undefined;
      }
      const code = content.subarray(LENGTH);
      return hash(code).equals(content.subarray(0, LENGTH)) ? code : undefined;
    },
    /** Whether this process may make the code, which one at a time does, until it calls `release`. */
    claim() {
      for (;;) {
        try {
          writeFileSync(lock, "", { flag: "wx" });
          return true;
        } catch (error) {
          if (error.code !== "EEXIST") throw error;
        }
        const { mtimeMs = 0 } = statSync(lock, { throwIfNoEntry: false }) ?? {};
        if (Date.now() - mtimeMs < ABANDONED) return false;
        rmSync(lock, { force: true });
      }
    },
    release() {
      rmSync(lock, { force: true });
    },
    /** Puts the code there, whole at any moment, in place of other builds'. */
    write(code) {
      const draft = `${file}.${process.pid}`;
      try {
        writeFileSync(draft, Buffer.concat([hash(code), code]), { flag: "wx" });
        renameSync(draft, file);
        for (const other of readdirSync(directory)) {
          // After an update nobody asks for those of the last build any more.
          if (other.endsWith(".cache") && !other.startsWith(build))
            rmSync(path.join(directory, other), { force: true });
        }
      } catch (error) {
        rmSync(draft, { force: true });
        throw error;
      }
    },
    /** Whether `write` can do anything. */
    isWritable() {
      try {
        accessSync(directory, constants.W_OK);
        return true;
      } catch {
        return false;
      }
    },
  };
}

module.exports = createCache;
