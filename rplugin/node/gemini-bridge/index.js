// Entry of the remote plugin: the standard Node host requires this file, and `host = "private"` runs it.
"use strict";

const load = require("./load.js");

if (require.main === module) {
  try {
    const loaded = load();
    loaded.exports.runPrivateHost(loaded.isCached ? undefined : require("./keep.js").keepAfterStart(loaded));
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
} else {
  module.exports = load().exports.plugin;
}
