/** A script for `node -e` in the plugin's folder. Stores V8's code cache, as the host does after its start. */
export const KEEP_CODE_CACHE = `const load = require("./rplugin/node/gemini-bridge/load.js");
require("./rplugin/node/gemini-bridge/keep.js").keep(load());`;
