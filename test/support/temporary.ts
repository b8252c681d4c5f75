/** Sets environment variables, and creates temporary directories and announcements of editors, for tests of discovery. */
import { chmodSync } from "node:fs";
import type { Announcement } from "../../src/discovery/content.ts";
import { makeDirectory } from "./sandbox.ts";
import type { Scope } from "./scope.ts";

/** Sets environment variables of this process until the end of the test; undefined removes a variable. */
export function setEnv(t: Scope, variables: Readonly<Record<string, string | undefined>>): void {
  const set = (values: typeof variables) => {
    for (const [name, value] of Object.entries(values)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  };
  const before = Object.fromEntries(Object.keys(variables).map((name) => [name, process.env[name]]));
  t.teardown(() => set(before));
  set(variables);
}

/** Creates a temporary directory that `os.tmpdir()` returns during a test. */
export function temporary(t: Scope): string {
  const directory = makeDirectory(t);
  t.teardown(() => chmodSync(directory, 0o700)); // a test may have removed the permissions
  setEnv(t, { TMPDIR: directory });
  return directory;
}

/** Returns the announcement of an editor, with the process id for the name of its discovery file. */
export function announcement(pid: number, port: number, authToken = "the-secret-token"): Announcement {
  return { pid, editorPid: pid, port, authToken };
}
