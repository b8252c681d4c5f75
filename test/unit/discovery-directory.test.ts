/** Whose directory may hold a token, with real owners, groups and user namespaces. */
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { createDiscoveryFile } from "../../src/discovery/file.ts";
import { GEMINI } from "../../src/profiles/profiles.ts";
import { canRun, rootless, runApart } from "../support/apart.ts";
import { announcement, temporary } from "../support/temporary.ts";

const isRoot = process.getuid?.() === 0;
const write = () => createDiscoveryFile(GEMINI, announcement(1, 2)).write(["/a"]);

t.test("a directory that its group may write to is refused, unless the sticky bit is set", async (t) => {
  const directory = temporary(t);
  for (const mode of [0o770, 0o720, 0o775]) {
    chmodSync(directory, mode);
    t.throws(
      write,
      { name: "DiscoveryError", message: /its group may rename .*chmod g-w/ },
      mode.toString(8),
    );
    t.same(readdirSync(directory), []);
  }
  chmodSync(directory, 0o1770);
  write();
  t.equal(statSync(join(directory, "gemini", "ide")).mode & 0o777, 0o700);
});

t.test("a directory of the user that stands for all unknown ones", async (t) => {
  const overflow = Number(readOr("/proc/sys/kernel/overflowuid", "65534"));
  await t.test("is another user's where root is known", async (t) => {
    // Only root can give a directory away; whoever else runs this has those of the system, which are root's.
    const directory = temporary(t);
    chmodSync(directory, 0o1777);
    if (isRoot) chownSync(directory, overflow, overflow);
    if (isRoot) t.throws(write, { message: /belongs to another user; set TMPDIR/ });
    else t.doesNotThrow(write);
  });

  await t.test("may be root's where root is not known, as in a rootless container", async (t) => {
    const directory = temporary(t);
    const script = `
      const { writeFileSync, statSync, existsSync } = require("node:fs");
      const said = [String(statSync(process.env.TMPDIR).uid)];
      const file = it.createDiscoveryFile(${JSON.stringify(GEMINI)}, ${JSON.stringify(announcement(1, 2))});
      try { file.write(["/a"]); said.push(existsSync(file.path) ? "written" : "not there"); file.remove(); }
      catch (error) { said.push(error.message); }
      console.log(said.join(" "));`;
    const run = (tmpdir: string) =>
      runApart(directory, "src/discovery/file.ts", script, { by: rootless, env: { TMPDIR: tmpdir } });
    // Root makes one of its own; for others the system's must do.
    const sticky = isRoot ? join(directory, "sticky") : "/tmp";
    const open = isRoot ? join(directory, "open") : "/";
    if (isRoot) for (const path of [sticky, open]) mkdirSync(path);
    if (isRoot) chmodSync(sticky, 0o1777);
    if (isRoot) chmodSync(open, 0o755);
    chmodSync(directory, 0o755);
    if (!canRun(rootless)) return t.comment("ordinary users have no namespaces here");
    const accepted = await run(sticky);
    if (isRoot) t.equal(accepted, `${overflow} written\n`);
    else t.notMatch(accepted, new RegExp(`${sticky} belongs to another user`));
    t.match(await run(open), new RegExp(`^${overflow} ${open} belongs to another user`));
  });
});

function readOr(path: string, otherwise: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return otherwise;
  }
}
