// Has a second Node make the code cache of the bundle, for the next start: this one has its own work to do, and once it
// has told V8 to save memory, V8 would refuse at the next start what is made here.
"use strict";

const { spawn } = require("node:child_process");
const path = require("node:path");

const script = path.join(__dirname, "make-cache.js");

/** By then the start is over, which the other Node would slow down (milliseconds). */
const DELAY = 3000;

function remakeCache(cache) {
  if (!cache.isWritable()) return;
  const run = () => {
    const child = spawn(process.execPath, [...process.execArgv, script], { stdio: "ignore" });
    child.on("error", () => {}); // the next start tries again
    child.unref();
  };
  setTimeout(run, DELAY).unref();
}

module.exports = remakeCache;
