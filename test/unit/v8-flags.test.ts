import { spawnSync } from "node:child_process";
import t from "tap";
import { flagsFor } from "../../src/system/v8-flags.ts";
import { withEnv } from "../support/sandbox.ts";

t.test("V8 of this Node accepts every flag without a message", async (t) => {
  const flags = flagsFor(process.versions.node);
  t.ok(flags);
  const set = `require("node:v8").setFlagsFromString(${JSON.stringify(flags)})`;
  const [file = "", ...words] = withEnv({}, [process.execPath, "-e", set]);
  t.equal(spawnSync(file, words, { encoding: "utf8" }).stderr, "");
});

t.test("an untested release of Node gets no flags", async (t) => {
  t.equal(flagsFor("18.20.0"), "");
  t.equal(flagsFor("99.0.0"), "");
});
