/** Creates the folders of CLIs in a home directory, for tests of profiles. */
import { readFileSync } from "node:fs";
import type { Test } from "tap";
import type { Clis } from "../../src/contract/clis.ts";
import { type Profile, profilesOf } from "../../src/profiles/profiles.ts";
import { setEnv, temporary } from "./temporary.ts";

/** Creates a home directory, and loads the profiles of the known CLIs. */
export function startProfiles(t: Test, more: Clis = []) {
  const home = temporary(t);
  setEnv(t, { HOME: home, PATH: "", QWEN_HOME: undefined });
  const known: Clis = [
    { name: "gemini", like: "gemini", cmd: ["gemini"] },
    { name: "qwen", like: "qwen", cmd: ["qwen"] },
    { name: "llxprt", like: "llxprt", cmd: ["llxprt"] },
  ];
  const profiles = profilesOf([...known, ...more]);
  const find = (name: string): Profile => {
    const profile = profiles.find((each) => each.name === name);
    if (!profile) throw new Error(`no ${name}`);
    return profile;
  };
  return { home, profiles, find, qwen: find("qwen") };
}

/** Reads a JSON file. */
export const read = (path: string) => JSON.parse(readFileSync(path, "utf8"));
