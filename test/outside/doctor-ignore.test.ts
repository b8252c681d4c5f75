import { execFileSync } from "node:child_process";
import { join } from "node:path";
import t from "tap";
import { examine } from "../support/doctor.ts";
import { startNvim } from "../support/nvim.ts";

t.test("the doctor reports an unusable ignore file without waiting", async (t) => {
  const nvim = await startNvim(t, { files: { "a.txt": "" } });
  await nvim.startBridge();
  t.notMatch((await examine(nvim))["Bridge"], /geminiignore/);
  const file = join(nvim.dirs.workspace, ".geminiignore");
  execFileSync("mkfifo", [file]);
  t.ok((await examine(nvim))["Bridge"]?.includes(`WARNING ${file} is not a regular file: nothing below`));
});
