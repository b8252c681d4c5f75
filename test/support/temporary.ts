/** Creates temporary directories, and announcements of editors, for tests of discovery. */
import { chmodSync } from "node:fs";
import type { Announcement } from "../../src/discovery/content.ts";
import { makeDirectory } from "./sandbox.ts";
import type { Scope } from "./scope.ts";

/** Creates a temporary directory that `os.tmpdir()` returns during a test. */
export function temporary(t: Scope): string {
  const before = process.env["TMPDIR"];
  const directory = makeDirectory(t);
  process.env["TMPDIR"] = directory;
  t.teardown(() => {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
    chmodSync(directory, 0o700); // a test may have removed the permissions
  });
  return directory;
}

/** Returns the announcement of an editor, with the process id for the name of its discovery file. */
export function announcement(pid: number, port: number, authToken = "the-secret-token"): Announcement {
  return { pid, editorPid: pid, port, authToken };
}
