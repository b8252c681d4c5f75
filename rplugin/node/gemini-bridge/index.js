// Entry of the remote plugin. Neovim's standard Node host loads this file with `require`. With the option
// `host = "private"`, Node runs it directly.
"use strict";

const { existsSync } = require("node:fs");
const { enableCompileCache } = require("node:module");
const path = require("node:path");

const root = path.join(__dirname, "..", "..", "..");
const dist = path.join(root, "dist");

function load() {
  const bundle = path.join(dist, "gemini-bridge.cjs");
  if (!existsSync(bundle))
    throw new Error(`gemini-bridge.nvim is not built: run "npm ci && npm run build" in ${root}`);
  return require(bundle);
}

if (require.main === module) {
  try {
    // Node 20 has no compile cache. The cache is in the plugin's folder, not in the temporary directory, which belongs
    // to all users of the machine.
    enableCompileCache?.(path.join(dist, "cache"));
    load().runPrivateHost();
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
} else {
  module.exports = load().plugin;
}
