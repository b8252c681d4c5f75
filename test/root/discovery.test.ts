/** Tests the owners of files and directories that contain a token. Only root can create files of other users. */
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import t from "tap";
import { createDiscoveryFile } from "../../src/discovery/file.ts";
import { GEMINI } from "../../src/profiles/profiles.ts";
import { canRun, rootless, runApart } from "../support/apart.ts";
import { startNvim } from "../support/nvim.ts";
import { startProfiles } from "../support/profiles.ts";
import { announcement, temporary } from "../support/temporary.ts";

/** Id that stands for all users that a user namespace does not know. */
const overflow = Number(readFileSync("/proc/sys/kernel/overflowuid", "utf8"));

t.test("a temporary directory of another user is refused, even with the sticky bit", (t) => {
  const directory = temporary(t);
  chmodSync(directory, 0o1777);
  chownSync(directory, overflow, overflow);
  const write = () => createDiscoveryFile(GEMINI, announcement(1, 2)).write(["/a"]);
  t.throws(write, { message: /belongs to another user; set TMPDIR/ });
  t.same(readdirSync(directory), []);
  t.end();
});

t.test(
  "a sticky directory of root may be used in a rootless container, where root is not known",
  async (t) => {
    const directory = temporary(t);
    const by = ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups", ...rootless];
    if (!canRun(by)) return t.comment("ordinary users have no namespaces here");
    const script = `
    const { statSync, existsSync } = require("node:fs");
    const file = it.createDiscoveryFile(${JSON.stringify(GEMINI)}, ${JSON.stringify(announcement(1, 2))});
    file.write(["/a"]);
    console.log(statSync(process.env.TMPDIR).uid, existsSync(file.path) ? "written" : "not there");`;
    const TMPDIR = join(directory, "sticky");
    mkdirSync(TMPDIR);
    chmodSync(TMPDIR, 0o1777);
    const said = await runApart(directory, "src/discovery/file.ts", script, { by, env: { TMPDIR } });
    t.equal(said, `${overflow} written\n`);
  },
);

t.test("a lock file of another user is not removed", (t) => {
  const { home, qwen } = startProfiles(t);
  const path = join(home, ".qwen/ide/2.lock");
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(path, "");
  chownSync(path, overflow, overflow);
  const write = () => createDiscoveryFile(qwen, announcement(1, 2)).write(["/a"]);
  t.throws(write, /belongs to another editor \(of another user\)/);
  t.equal(readFileSync(path, "utf8"), "");
  t.end();
});

t.test("nothing is written to a discovery directory that another user has created", async (t) => {
  const nvim = await startNvim(t);
  const directory = join(nvim.dirs.tmp, "gemini");
  mkdirSync(directory);
  chmodSync(directory, 0o777);
  chownSync(directory, overflow, overflow);
  await nvim.command("GeminiStart");
  await nvim.bridgeIs("running");
  await nvim.says(/Gemini CLI cannot find this Neovim: .*\s*.*belongs to another user; set TMPDIR/);
  t.same(readdirSync(directory), []);
});
