// Loads the bundle. If an earlier start has stored a code cache, V8 need not compile the bundle.
"use strict";

const { readFileSync } = require("node:fs");
const { createRequire } = require("node:module");
const path = require("node:path");
const { Script } = require("node:vm");
const createCache = require("./cache.js");

const root = path.join(__dirname, "..", "..", "..");
const dist = path.join(root, "dist");
const bundle = path.join(dist, "gemini-bridge.cjs");
const head = "(function (exports, require, module, __filename, __dirname) { ";

function readBundle() {
  try {
    return readFileSync(bundle, "utf8");
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
    throw new Error(`gemini-bridge.nvim is not built: run "npm ci && npm run build" in ${root}`);
  }
}

/**
 * Loads the bundle like `require`, with its code cache if there is one. Finds the cache by the name of the build, in
 * the first line of the bundle: `//<name>`. (V8 itself rejects a cache that was made with other flags.)
 */
function load() {
  const source = readBundle();
  const cache = createCache(dist, source.slice(2, source.indexOf("\n")));
  const cachedData = cache.read();
  const script = new Script(`${head}${source}\n})`, {
    filename: bundle,
    columnOffset: -head.length,
    cachedData,
  });
  const module = { exports: {} };
  script.runInThisContext()(module.exports, createRequire(bundle), module, bundle, dist);
  return { exports: module.exports, script, cache, isCached: script.cachedDataRejected === false };
}

module.exports = load;
