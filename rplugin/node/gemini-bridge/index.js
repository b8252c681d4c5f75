// The remote plugin's entry: required by the standard Node host, run by `host = "private"`.
"use strict";

const load = require("./load.js");
const remakeCache = require("./remake.js");

if (require.main === module) {
  try {
    const { exports: bundle, cache, isCached } = load();
    bundle.runPrivateHost();
    if (!isCached) remakeCache(cache);
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
} else {
  module.exports = load().exports.plugin;
}
