/** Tests hooks with discovery files and directories of another user. Only root can create these files. */
import { chownSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { runHook, SILENT, startTrap } from "../support/hook.ts";
import { makeDirectory } from "../support/sandbox.ts";

const OTHER_USER = 65_534;

t.test("a hook trusts no file and no directory of another user", async (t) => {
  const TMPDIR = makeDirectory(t);
  const workspace = makeDirectory(t);
  const trap = await startTrap(t);
  const { port } = trap;
  const ideInfo = { name: "neovim", displayName: "Neovim" };
  const ide = join(TMPDIR, "gemini/ide");
  mkdirSync(ide, { recursive: true });
  const path = join(ide, `gemini-ide-server-${process.pid}-${port}.json`);
  writeFileSync(path, JSON.stringify({ port, workspacePath: workspace, authToken: "token", ideInfo }));
  const env = { TMPDIR, GEMINI_CLI_IDE_SERVER_PORT: undefined };
  for (const foreign of [path, ide, join(TMPDIR, "gemini")]) {
    chownSync(foreign, OTHER_USER, OTHER_USER);
    t.same(await runHook(env, "{}", { cwd: workspace }), SILENT, foreign);
    t.equal(trap.connections(), 0);
    chownSync(foreign, 0, 0);
  }
  await runHook(env, "{}", { cwd: workspace });
  t.ok(trap.connections() > 0, "root's own are believed");
});
