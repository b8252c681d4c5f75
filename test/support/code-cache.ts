/**
 * A script for `node -e` in the plugin's folder. It stores V8's code cache like the host does after a start.
 */
export const KEEP_CODE_CACHE = `const load = require("./rplugin/node/gemini-bridge/load.js");
require("./rplugin/node/gemini-bridge/keep.js").keep(load());`;
