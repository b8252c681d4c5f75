/** Tests the real entry of the host, on each Node: with, without and with a damaged compile cache. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import module from "node:module";
import { join } from "node:path";
import t, { type Test } from "tap";
import { root } from "../support/nvim.ts";
import { makeDirectory, withEnv } from "../support/sandbox.ts";

const WELL = { lives: true, code: 0, signal: null, errors: "" };

/** Copies the entry and the bundle. */
function copyBuilt(t: Test) {
  const dir = makeDirectory(t);
  for (const name of ["rplugin", "dist/gemini-bridge.cjs"])
    cpSync(join(root, name), join(dir, name), { recursive: true });
  return {
    dist: join(dir, "dist"),
    /**
     * Starts the entry as Neovim does, waits until the entry attaches, and ends its input as when Neovim ends.
     * @returns the exit of the process, and its output
     */
    async run() {
      const [file = "", ...words] = withEnv({}, [process.execPath, "rplugin/node/gemini-bridge/index.js"]);
      const host = spawn(file, words, { cwd: dir, stdio: ["pipe", "pipe", "pipe"] });
      let errors = "";
      host.stderr.setEncoding("utf8").on("data", (text: string) => {
        errors += text;
      });
      const ended = once(host, "exit");
      const asked = once(host.stdout, "data").then(([bytes]) => String(bytes).includes("attach"));
      const lives = await Promise.race([asked, ended.then(() => false)]);
      host.stdin.end();
      const [code, signal] = await ended;
      return { lives, code, signal, errors };
    },
  };
}

t.test("the host starts with the compile cache of an earlier start, and with a damaged one", async (t) => {
  const { dist, run } = copyBuilt(t);
  t.same(await run(), WELL, "without a cache");
  const cache = join(dist, "cache");
  t.equal(existsSync(cache), "enableCompileCache" in module, "this Node has one");
  t.same(await run(), WELL, "with a cache");
  const names = existsSync(cache) ? readdirSync(cache, { recursive: true, encoding: "utf8" }) : [];
  const files = names.map((name) => join(cache, name)).filter((path) => statSync(path).isFile());
  for (const file of files) {
    const bytes = readFileSync(file);
    for (let at = 0; at < bytes.length; at += 100) bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
    writeFileSync(file, bytes);
  }
  t.same(await run(), WELL, "with a damaged cache");
});

t.test("the host starts in a read-only folder", async (t) => {
  const { dist, run } = copyBuilt(t);
  t.teardown(() => chmodSync(dist, 0o755));
  chmodSync(dist, 0o555);
  t.same(await run(), WELL);
  t.same(readdirSync(dist), ["gemini-bridge.cjs"]);
});

t.test("the entry says that the plugin is not built", async (t) => {
  const { dist, run } = copyBuilt(t);
  rmSync(join(dist, "gemini-bridge.cjs"));
  const { lives, code, errors } = await run();
  t.same({ lives, code }, { lives: false, code: 1 });
  t.match(errors, /^gemini-bridge\.nvim is not built: run "npm ci && npm run build" in /);
});
