// V8's code cache of the bundle as a file. V8 believes what it is given: compiled code in which a single bit is wrong
// can crash the process. So the file begins with a hash of what it was made for and of the code itself.
"use strict";

const { createHash } = require("node:crypto");
const { accessSync, constants, readFileSync, renameSync, rmSync, writeFileSync } = require("node:fs");
const path = require("node:path");

const HASH = "sha256";
const LENGTH = 32;

/** The cache of this very build, Node and machine in a directory. */
function createCache(directory, build) {
  const name = `${build}-${process.version}-${process.arch}`;
  const file = path.join(directory, `${name}.cache`);
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
    /** Puts the code there, whole at any moment. */
    write(code) {
      const draft = `${file}.${process.pid}`;
      try {
        writeFileSync(draft, Buffer.concat([hash(code), code]), { flag: "wx" });
        renameSync(draft, file);
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
