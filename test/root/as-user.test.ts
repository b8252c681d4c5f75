/** Tests scripts/as-user.mjs, which runs programs as an ordinary user. The checkout of the test belongs to root. */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import t, { type Test } from "tap";
import { z } from "zod";
import { nvimBinary, root } from "../support/nvim.ts";
import { commit, copyPlugin } from "../support/plugin.ts";
import { makeDirectory, writeFiles } from "../support/sandbox.ts";

/** Prints its environment, and changes two files. Only one of these files is copied back. */
const PROBE = `
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
const { uid, username, homedir } = userInfo();
let refusal: string | undefined;
try {
  writeFileSync("node_modules/own/open.js", "changed");
} catch (error) {
  refusal = (error as { code: string }).code;
}
const npm = execFileSync("npm", ["--version"], { encoding: "utf8" });
const changes = execFileSync("git", ["status", "--porcelain"], { encoding: "utf8" });
const closed = readFileSync(".qwen/closed.js", "utf8");
writeFileSync("doc/kept.svg", "drawn");
writeFileSync("README.md", "changed");
const { env, execPath } = process;
console.log(JSON.stringify({
  uid, username, homedir, home: env.HOME, secret: env.SECRET, nvim: env.NVIM_BIN, refusal, npm, changes, closed, execPath,
  cwd: process.cwd(), args: process.argv.slice(2),
}));
`;

const Probed = z.object({
  uid: z.int(),
  username: z.string(),
  homedir: z.string(),
  home: z.string(),
  secret: z.string().optional(),
  nvim: z.string(),
  refusal: z.string().optional(),
  npm: z.string(),
  changes: z.string(),
  closed: z.string(),
  execPath: z.string(),
  cwd: z.string(),
  args: z.array(z.string()),
});

/**
 * Creates a checkout below a folder of mode 0700. Contains a program and two installed files, of which one is readable
 * only by root.
 */
function makeCheckout(t: Test) {
  const folder = makeDirectory(t);
  const checkout = copyPlugin(join(folder, "checkout"));
  writeFileSync(join(checkout, "probe.ts"), PROBE);
  commit(checkout, "main");
  for (const name of ["node_modules/esbuild", "node_modules/@esbuild"])
    cpSync(join(root, name), join(checkout, name), { recursive: true });
  writeFiles(checkout, { "node_modules/own/open.js": "open", ".qwen/closed.js": "closed" });
  chmodSync(join(checkout, ".qwen/closed.js"), 0o600);
  return { folder, checkout };
}

function run(checkout: string, node: string): z.infer<typeof Probed> {
  const env = {
    PATH: `${dirname(node)}:${process.env["PATH"]}`,
    NVIM_BIN: nvimBinary(),
    GIT_CONFIG_SYSTEM: "/dev/null", // the system's file may mark every directory as safe
    SECRET: "of root",
  };
  const words = ["scripts/as-user.mjs", "--keep", "doc", "probe.ts", "one", "two"];
  return Probed.parse(JSON.parse(execFileSync(node, words, { cwd: checkout, env, encoding: "utf8" })));
}

t.test("a program runs as an ordinary user in a copy of the checkout", async (t) => {
  const { checkout } = makeCheckout(t);
  const owners = () => {
    const format = "%P %U:%G %m\\n";
    return execFileSync("find", [checkout, "-path", "*/doc", "-prune", "-o", "-printf", format], {
      encoding: "utf8",
    });
  };
  const before = owners();
  const probed = run(checkout, process.execPath);
  t.not(probed.uid, 0);
  t.equal(probed.home, probed.homedir, "with the home of its user");
  t.equal(statSync(probed.home).uid, probed.uid);
  t.equal(probed.secret, undefined, "without root's variables");
  t.same(probed.args, ["one", "two"]);
  t.equal(probed.changes, "", "git takes the repository for the user's");
  t.equal(probed.closed, "closed", "what only root may read was copied");
  t.equal(probed.refusal, "EACCES", "what was linked cannot be written to");
  t.notOk(existsSync(probed.cwd), "the copy is gone");
  t.equal(owners(), before, "the checkout has its owners and modes");
  t.equal(readFileSync(join(checkout, "doc/kept.svg"), "utf8"), "drawn");
  t.equal(statSync(join(checkout, "doc/kept.svg")).uid, 0);
  t.not(readFileSync(join(checkout, "README.md"), "utf8"), "changed");
});

t.test("a Node that only root can reach is copied together with its npm", async (t) => {
  const { folder, checkout } = makeCheckout(t);
  const prefix = join(folder, "node");
  const npm = execFileSync("sh", ["-c", "command -v npm"], { encoding: "utf8" }).trim();
  mkdirSync(join(prefix, "bin"), { recursive: true });
  copyFileSync(process.execPath, join(prefix, "bin/node"));
  cpSync(dirname(dirname(realpathSync(npm))), join(prefix, "lib/node_modules/npm"), { recursive: true });
  execFileSync("ln", ["-s", "../lib/node_modules/npm/bin/npm-cli.js", join(prefix, "bin/npm")]);
  const probed = run(checkout, join(prefix, "bin/node"));
  t.not(probed.uid, 0);
  t.ok(probed.execPath.startsWith(`${probed.cwd}/`), probed.execPath);
  t.match(probed.npm, /^\d+\./);
});
