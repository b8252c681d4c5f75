// Makes V8's code cache of the bundle, for the Node that runs this. What has run by then is in it compiled.
"use strict";

const load = require("./load.js");

const { exports: bundle, script, cache } = load();
if (cache.claim()) {
  bundle
    .prepare()
    .then(() => cache.write(script.createCachedData()))
    .finally(cache.release);
}
