// Stores the bundle's code cache (the code that V8 has compiled) in a file. V8 does not check this code, and a single
// wrong bit can crash the process. Therefore, the file starts with a hash of its name and the code.
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

/** Maximum age of a lock (ms). An older lock is ignored, because a crashed process must have left it. */
const MAX_LOCK_AGE_MS = 60_000;

/** Accesses the cache of a build. Each version of Node and each architecture has its own cache. */
function createCache(directory, build) {
  const name = `${build}-${process.version}-${process.arch}`;
  const file = path.join(directory, `${name}.cache`);
  const lock = `${file}.lock`;
  // Hashes the name of the cache with the code. A file that was renamed from another version is then rejected.
  const hash = (code) => createHash(HASH).update(name).update("\0").update(code).digest();
  return {
    /** Returns the code; undefined if the file is missing or damaged. */
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
    /** Takes the lock for writing the cache. Returns false if another process holds the lock. */
    claim() {
      for (;;) {
        try {
          writeFileSync(lock, "", { flag: "wx" });
          return true;
        } catch (error) {
          if (error.code !== "EEXIST") throw error;
        }
        const { mtimeMs = 0 } = statSync(lock, { throwIfNoEntry: false }) ?? {};
        if (Date.now() - mtimeMs < MAX_LOCK_AGE_MS) return false;
        rmSync(lock, { force: true });
      }
    },
    release() {
      rmSync(lock, { force: true });
    },
    /** Writes the cache atomically, and deletes the caches of other builds. */
    write(code) {
      const draft = `${file}.${process.pid}`;
      try {
        writeFileSync(draft, Buffer.concat([hash(code), code]), { flag: "wx" });
        renameSync(draft, file);
        for (const other of readdirSync(directory)) {
          if (other.endsWith(".cache") && !other.startsWith(build))
            rmSync(path.join(directory, other), { force: true });
        }
      } catch (error) {
        rmSync(draft, { force: true });
        throw error;
      }
    },
    /** Whether the directory is writable. */
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
