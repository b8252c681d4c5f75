/** Tests the default settings for CLIs of ordinary users. test/root/system-defaults.test.ts tests those of root. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { isFileAndDirectorySecureSync } from "@google/gemini-cli-core/dist/src/utils/security.js";
import t from "tap";
import { defaultSettings } from "../../src/profiles/default-settings.ts";
import { GEMINI } from "../../src/profiles/profiles.ts";
import { writeSystemDefaults } from "../../src/profiles/system-defaults.ts";
import { makeDirectory, writeFiles } from "../support/sandbox.ts";
import { setEnv } from "../support/temporary.ts";

const CONNECT = { ide: { enabled: true, hasSeenNudge: true } };

const placeIn = (home: string) => ({ directory: join(home, "state"), editorPid: process.pid });

t.test(
  "no default settings are written for an ordinary user, because the CLI accepts only files of root",
  (t) => {
    const home = makeDirectory(t);
    const written = writeSystemDefaults(GEMINI, placeIn(home), [CONNECT], {});
    t.match(written, { path: undefined, obstacle: /does not belong to root/ });
    t.same(readdirSync(join(home, "state")), []);
    writeFiles(home, { "probe.json": "{}" });
    t.notOk(isFileAndDirectorySecureSync(join(home, "probe.json")).secure, "the CLI agrees");
    t.end();
  },
);

t.test("without bash, the default settings contain no hooks", (t) => {
  const profile = { like: "gemini", env: "GEMINI_CLI_IDE_" } as const;
  const hooks = () => defaultSettings(profile, "/extension/hooks/hook.sh").filter((part) => "hooks" in part);
  t.equal(hooks().length, 1);
  setEnv(t, { PATH: "/nowhere" });
  t.equal(hooks().length, 0);
  t.end();
});

t.test("without settings, neither file nor directory is created", (t) => {
  const home = makeDirectory(t);
  const written = writeSystemDefaults(GEMINI, placeIn(home), [], {});
  t.match(written, { path: undefined, obstacle: undefined });
  t.notOk(existsSync(join(home, "state")));
  t.end();
});
