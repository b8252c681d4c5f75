// Makes V8's code cache of the bundle, for the Node that runs this. What has run by then is in it compiled.
"use strict";

const load = require("../rplugin/node/gemini-bridge/load.js");

const { exports: bundle, script, cache } = load();
bundle.prepare().then(() => cache.write(script.createCachedData()));
