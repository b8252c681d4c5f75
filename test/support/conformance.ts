/** Runs the official MCP conformance suite. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { Test } from "tap";
import { root } from "./nvim.ts";
import { makeDirectory } from "./sandbox.ts";

/**
 * Runs the official MCP conformance suite against a server of the plugin.
 * @returns the output without colours, and the exit code: 1 for an unexpected failure or warning
 */
export async function runConformance(
  t: Test,
  {
    port,
    token,
    args,
    path = "/mcp",
  }: { port: number; token: string; args: readonly string[]; path?: string },
): Promise<{ code: number; output: string }> {
  const url = `http://127.0.0.1:${port}${path}`;
  const suite = join(root, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
  const preload = join(root, "test/conformance/preload.mjs");
  const command = [
    "--import",
    preload,
    suite,
    "server",
    "--url",
    url,
    "--output-dir",
    makeDirectory(t),
    ...args,
  ];
  const { PATH = "" } = process.env;
  const child = spawn("env", ["-i", `PATH=${PATH}`, `TOKEN=${token}`, process.execPath, ...command], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.teardown(() => child.kill("SIGKILL"));
  const exit = new Promise<number>((resolve) => child.once("exit", (code) => resolve(code ?? -1)));
  const output = await text(child.stdout);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours start with a control character
  return { code: await exit, output: output.replace(/\u001b\[\d*m/g, "") };
}
