/** Compares the plugin with the CLI's own code on each system, by changing the reported platform. */
import { mkdirSync, symlinkSync } from "node:fs";
import os from "node:os";
import { dirname, join } from "node:path";
import { Storage } from "@google/gemini-cli-core/dist/src/config/storage.js";
import { isSubpath } from "@google/gemini-cli-core/dist/src/utils/paths.js";
import t from "tap";
import { contains } from "../../src/profiles/announced-editors.ts";
import { expand } from "../../src/profiles/discovery-paths.ts";
import { GEMINI } from "../../src/profiles/profiles.ts";
import { macos } from "../../src/system/macos.ts";
import { systemOf } from "../../src/system/platform.ts";
import { makeDirectory } from "../support/sandbox.ts";

const PLATFORMS = ["linux", "darwin"] as const;

/** Runs code with another value of process.platform. */
async function as<T>(platform: NodeJS.Platform, run: () => T | Promise<T>): Promise<T> {
  const before = Object.getOwnPropertyDescriptor(process, "platform");
  const asked = os.platform;
  Object.defineProperty(process, "platform", { ...before, value: platform });
  os.platform = () => platform;
  try {
    return await run();
  } finally {
    if (before) Object.defineProperty(process, "platform", before);
    os.platform = asked;
  }
}

t.test("a directory is recognized as inside another", async (t) => {
  const paths = {
    linux: [
      "/home/ada",
      "/home/ada/x",
      "/home/Ada/x",
      "/home/ada..x",
      "/home/ada/../b",
      "/",
      "/home/ada/..x",
    ],
    darwin: ["/Users/ada", "/users/ADA/x", "/Users/ada2", "/Volumes/x", "/", "/Users/ada/..x"],
  };
  for (const platform of PLATFORMS)
    for (const outer of paths[platform])
      for (const inner of paths[platform]) {
        const theirs = await as(platform, () => isSubpath(outer, inner));
        t.equal(systemOf(platform).isWithin(outer, inner), theirs, `${platform}: ${outer} ${inner}`);
      }
});

t.test("the administrator's directory is known for each system", async (t) => {
  for (const platform of PLATFORMS) {
    const theirs = await as(platform, () => dirname(Storage.getSystemSettingsPath()));
    t.equal(GEMINI.defaults?.directory[systemOf(platform).name], theirs, platform);
  }
});

t.test("the paths in profiles are expanded for macOS", async (t) => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the profile contains this placeholder
  const llxprt = "${LLXPRT_CONFIG_HOME:-{config}/llxprt-code}/settings.json";
  t.equal(
    expand(llxprt, { HOME: "/Users/ada" }, macos),
    "/Users/ada/Library/Preferences/llxprt-code/settings.json",
  );
});

t.test("a temporary directory on macOS is found below the link /var", async (t) => {
  const base = makeDirectory(t);
  mkdirSync(join(base, "private/var/folders/zz/T/project"), { recursive: true });
  symlinkSync("private/var", join(base, "var"));
  const said = join(base, "var/folders/zz/T");
  t.ok(contains(said, join(base, "private/var/folders/zz/T/project"), macos));
  t.ok(contains(join(base, "private/var/folders/zz/T"), join(base, "var/folders/zz/T/project"), macos));
  t.ok(contains(said, join(base, "PRIVATE/var/folders/ZZ/T/gone"), macos), "in either case");
});
