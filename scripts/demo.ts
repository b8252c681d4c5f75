/** `make demo`: runs the main workflow once, with a real Neovim and a real MCP client, and prints each step. */
import { readFileSync } from "node:fs";
import { connectClient, readDiscovery } from "../test/support/client.ts";
import { startNvim } from "../test/support/nvim.ts";
import { type Scope, within } from "../test/support/scope.ts";

const started = performance.now();

function say(step: string, detail = ""): void {
  const seconds = ((performance.now() - started) / 1000).toFixed(2).padStart(6);
  console.log(`${seconds} s  ${step.padEnd(20)} ${detail}`);
}

async function demo(scope: Scope): Promise<void> {
  const sample = readFileSync(new URL("sample/greet.js", import.meta.url), "utf8");
  const nvim = await startNvim(scope, { files: { "greet.js": sample }, args: ["greet.js"] });
  const path = nvim.path("greet.js");
  say("Neovim", String(await nvim.lua("return tostring(vim.version())")));

  await nvim.command("GeminiStart");
  await nvim.waitFor("require('gemini-bridge').status().state == 'running'", "the bridge to run", 10_000);
  const [discovery] = readDiscovery(nvim.dirs.tmp);
  if (!discovery) throw new Error("no discovery file");
  say("discovery file", discovery.path);

  const client = await connectClient(scope, { port: discovery.port, token: discovery.content.authToken });
  say("connected", `http://127.0.0.1:${discovery.port}/mcp`);

  await nvim.input("2GV2j");
  const context = await client.waitForNotification(
    "ide/contextUpdate",
    ({ workspaceState }) => workspaceState?.openFiles?.[0]?.selectedText !== undefined,
  );
  say("ide/contextUpdate", JSON.stringify(context.workspaceState?.openFiles?.[0]));
  await nvim.input("<Esc>");

  const proposal = sample.replace('"world"', '"Neovim"');
  await client.openDiff(path, proposal);
  say("openDiff", String(await nvim.lua("return vim.inspect(require('gemini-bridge').diffs())")));

  await nvim.command("GeminiReview");
  await nvim.input("ggOreviewed in Neovim<Esc>");
  say("an edit", "a comment line, typed into the proposal");

  await nvim.input(":GeminiAccept<CR>");
  say(":GeminiAccept");
  const accepted = await client.waitForNotification("ide/diffAccepted");
  say("ide/diffAccepted", JSON.stringify(accepted.content));

  await nvim.command("GeminiStop");
  await nvim.waitFor("require('gemini-bridge').status().state == 'stopped'", "the bridge to stop");
  say("stopped", `discovery files left: ${readDiscovery(nvim.dirs.tmp).length}`);
}

await within(demo);
