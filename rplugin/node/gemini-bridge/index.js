// Entry of the remote plugin. Neovim's standard Node host loads this file with `require`. With the option
// `host = "private"`, Node runs it directly.
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
