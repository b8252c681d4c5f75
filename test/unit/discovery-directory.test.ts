/** Tests which directories may contain a token, with real owners, groups and user namespaces. */
import { chmodSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { createDiscoveryFile } from "../../src/discovery/file.ts";
import { GEMINI } from "../../src/profiles/profiles.ts";
import { canRun, rootless, runApart } from "../support/apart.ts";
import { announcement, temporary } from "../support/temporary.ts";

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

t.test("a directory of root is accepted if root is unknown, as in a rootless container", async (t) => {
  const overflow = Number(readOr("/proc/sys/kernel/overflowuid", "65534"));
  const script = `
    const { statSync, existsSync } = require("node:fs");
    const said = [String(statSync(process.env.TMPDIR).uid)];
    const file = it.createDiscoveryFile(${JSON.stringify(GEMINI)}, ${JSON.stringify(announcement(1, 2))});
    try { file.write(["/a"]); said.push(existsSync(file.path) ? "written" : "not there"); file.remove(); }
    catch (error) { said.push(error.message); }
    console.log(said.join(" "));`;
  const run = (TMPDIR: string) =>
    runApart(temporary(t), "src/discovery/file.ts", script, { by: rootless, env: { TMPDIR } });
  if (!canRun(rootless)) return t.comment("ordinary users have no namespaces here");
  t.notMatch(await run("/tmp"), /\/tmp belongs to another user/, "it has the sticky bit");
  t.match(await run("/"), new RegExp(`^${overflow} / belongs to another user`));
});

function readOr(path: string, otherwise: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return otherwise;
  }
}
