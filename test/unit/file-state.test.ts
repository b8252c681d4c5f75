import { rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { readStableState } from "../../src/system/file-state.ts";
import { temporary } from "../support/temporary.ts";
import { waitFor } from "../support/wait.ts";

t.test("a file that is being written is read when the write is complete", async (t) => {
  const path = join(temporary(t), "a.txt");
  for (const text of ["", "all of it\n"]) {
    writeFileSync(path, text);
    t.match(await readStableState(path), { kind: "known", text });
    t.ok(Date.now() - statSync(path).mtimeMs >= 29, "it has not changed for a moment");
  }
  rmSync(path);
  const found = readStableState(path);
  writeFileSync(path, "written anew\n");
  t.match(
    await found,
    { kind: "known", text: "written anew\n" },
    "nor is it gone when it is only written anew",
  );
});

t.test("an empty file is read again, although its times are old", async (t) => {
  const path = join(temporary(t), "a.txt");
  writeFileSync(path, "");
  await waitFor(() => Date.now() - statSync(path).ctimeMs > 100, "the file to be old");
  const found = readStableState(path);
  writeFileSync(path, "written after it was truncated\n");
  t.match(await found, { kind: "known", text: "written after it was truncated\n" });
});
