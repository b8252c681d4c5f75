import { spawnSync } from "node:child_process";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { root } from "../support/nvim.ts";
import { copyPlugin } from "../support/plugin.ts";
import { makeDirectory } from "../support/sandbox.ts";

t.test("the build fails if a library no longer imports a module that is left out", async (t) => {
  const folder = makeDirectory(t);
  copyPlugin(folder);
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const build = () => {
    const { status, stderr } = spawnSync(process.execPath, ["scripts/build.mjs"], {
      cwd: folder,
      encoding: "utf8",
    });
    return { status, stderr };
  };
  t.equal(build().status, 0);
  const list = join(folder, "scripts/left-out.mjs");
  writeFileSync(list, readFileSync(list, "utf8").replace('"light-my-request"', '"heavy-my-request"'));
  const { status, stderr } = build();
  t.equal(status, 1);
  t.match(stderr, /left-out\.mjs: nothing imports heavy-my-request \(imported in \/fastify\/\) any more/);
});
