import { chmodSync } from "node:fs";
import type { Announcement } from "../../src/discovery/content.ts";
import { makeDirectory } from "./sandbox.ts";
import type { Scope } from "./scope.ts";

/** A temporary directory that `os.tmpdir()` answers for the time of a test. */
export function temporary(t: Scope): string {
  const before = process.env["TMPDIR"];
  const directory = makeDirectory(t);
  process.env["TMPDIR"] = directory;
  t.teardown(() => {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
    chmodSync(directory, 0o700); // a test may have closed it
  });
  return directory;
}

/** What CLIs are told of an editor, and by which process its discovery file is named. */
export function announcement(pid: number, port: number, authToken = "the-secret-token"): Announcement {
  return { pid, editorPid: pid, port, authToken };
}
