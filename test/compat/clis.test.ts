/** Tests other CLIs of the protocol with their own client code: Qwen Code, a derived CLI, and LLxprt Code. */
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import t, { type Test } from "tap";
import { z } from "zod";
import { OLA } from "../support/clis.ts";
import { type ClientCode, playSession, startCompat } from "../support/compat.ts";
import { root } from "../support/nvim.ts";

const Package = z.object({ version: z.string() });
const versionOf = (folder: string) =>
  Package.parse(JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))).version;

const qwen = join(root, ".qwen/node_modules/@qwen-code/qwen-code");

/** Finds the bundled file with Qwen Code's client. The names of Qwen Code's files are hashes. */
function qwenClient(): string {
  const chunks = join(qwen, "chunks");
  const name = readdirSync(chunks).find((chunk) => {
    const text = chunk.endsWith(".js") ? readFileSync(join(chunks, chunk), "utf8") : "";
    return text.includes("QWEN_CODE_IDE_SERVER_PORT") && /^ {2}ideContextStore,$/m.test(text);
  });
  if (name === undefined) throw new Error("Qwen Code has its client elsewhere");
  return join(chunks, name);
}

/** Folder with the source of LLxprt Code, which is not on npm. Without this folder, LLxprt Code is not tested. */
const llxprt = process.env["LLXPRT_CODE"];

/** Bundles the client from the source of LLxprt Code, without its logger. */
async function llxprtClient(t: Test, source: string): Promise<Pick<ClientCode, "modules">> {
  const folder = join(source, "packages/ide-integration/src/ide");
  const outdir = t.testdir();
  await build({
    entryPoints: [join(folder, "ide-client.ts"), join(folder, "ideContext.ts")],
    outdir,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    tsconfigRaw: {},
    splitting: true,
    format: "esm",
    platform: "node",
    packages: "external",
    plugins: [
      {
        name: "logger",
        setup({ onResolve, onLoad }) {
          onResolve({ filter: /\/debugLogger\.js$/ }, ({ path }) => ({ path, namespace: "logger" }));
          onLoad({ filter: /.*/, namespace: "logger" }, () => ({
            contents: "export const debugLogger = { debug() {}, error() {} };",
          }));
        },
      },
    ],
  });
  return { modules: [join(outdir, "ide-client.mjs"), join(outdir, "ideContext.mjs")] };
}

/** Returns the newest available Node. LLxprt Code needs Node 24. */
function newestNode(): string {
  const path = join(root, ".nodes/node_modules", `node-24-${process.platform}-${process.arch}`, "bin/node");
  return existsSync(path) ? path : process.execPath;
}

t.setTimeout(180_000);

t.test("CLIs other than Gemini CLI connect", async (t) => {
  const nvim = await startCompat(t, {
    files: { "../home/.qwen/keep": "", "../home/.ola/keep": "" },
    init: `require('gemini-bridge').setup({ clis = { ${OLA} } })`,
  });
  const rows: string[] = [];
  /** Runs a session. The bridge recognizes the client by the client's token. */
  async function play(t: Test, what: string, code: ClientCode): Promise<void> {
    await nvim.lua(`_G.known = nil
      vim.api.nvim_create_autocmd('User', { pattern = 'GeminiConnected', once = true, callback = function()
        _G.known = require('gemini-bridge').status().clients[1].cli
      end })`);
    await playSession(t, nvim, code);
    t.equal(await nvim.lua("return _G.known"), code.name);
    await nvim.waitFor("#require('gemini-bridge').status().clients == 0", "its end");
    rows.push(`| ${what} | yes | yes | yes | yes | yes |`);
  }

  await t.test("Qwen Code connects and accepts a proposal", async (t) => {
    const client = qwenClient();
    const code: ClientCode = { name: "qwen", modules: [client, client] };
    await play(t, `Qwen Code ${versionOf(qwen)}`, code);
    const preload = [join(import.meta.dirname, "rename.mjs")];
    await play(t, "Qwen Code under other names, as a derived CLI in `clis`", {
      ...code,
      name: "ola",
      preload,
    });
  });

  if (llxprt) {
    await t.test("LLxprt Code connects and accepts a proposal", async (t) => {
      const { modules } = await llxprtClient(t, llxprt);
      const version = versionOf(join(llxprt, "packages/ide-integration"));
      const code: ClientCode = { name: "llxprt", modules, node: newestNode() };
      await play(t, `LLxprt Code ${version}, from its source`, code);
      for (const log of ["llxprt.log", "llxprt.log.go"]) rmSync(join(nvim.dirs.home, log));
      await playSession(t, nvim, { ...code, program: "llxprt" });
    });
  } else t.comment("LLxprt Code: not tried, LLXPRT_CODE does not name its source");

  const head = "| CLI | connects | context | accept | reject | its own prompt |\n|---|---|---|---|---|---|\n";
  t.comment(`\n${head}${rows.join("\n")}`);
  const page = readFileSync(join(root, "doc/compatibility.md"), "utf8");
  t.ok(page.includes(head + rows.join("\n")), "doc/compatibility.md has this table");
});
