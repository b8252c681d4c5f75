// The remote plugin's entry: required by the standard Node host, run by `host = "private"`.
"use strict";

const path = require("node:path");

const bundle = path.join(__dirname, "..", "..", "..", "dist", "gemini-bridge.cjs");

function load() {
  try {
    return require(bundle);
  } catch (error) {
    if (error.code !== "MODULE_NOT_FOUND" || !error.message.includes(bundle)) throw error;
    const root = path.join(__dirname, "..", "..", "..");
    throw new Error(`gemini-bridge.nvim is not built: run "npm ci && npm run build" in ${root}`);
  }
}

if (require.main === module) {
  try {
    load().runPrivateHost();
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
} else {
  module.exports = load().plugin;
}
