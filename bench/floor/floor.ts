/**
 * Builds and starts host.ts, a minimal host. Its times are the lower limit (the floor) for the times of the plugin. The
 * minimal host is bundled in the same way as the plugin's host.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { type CompanionClient, connectClient } from "../../test/support/client.ts";
import type { Nvim } from "../../test/support/nvim.ts";
import type { Scope } from "../../test/support/scope.ts";
import { waitFor } from "../../test/support/wait.ts";

/** Bundles host.ts. @returns the path of the bundle */
export async function buildFloor(scope: Scope): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), "gb-floor-"));
  scope.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const outfile = join(directory, "floor.cjs");
  await build({
    entryPoints: [join(import.meta.dirname, "host.ts")],
    outfile,
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node20",
    minify: true,
    legalComments: "none",
  });
  return outfile;
}

/**
 * Lua that starts host.ts. Returns the time until the host has attached to Neovim (ms), its port and its process id.
 */
export const START_FLOOR = `
local floor, argument = ...
local port
floor_attached = function(given) port = given end
local start = vim.uv.hrtime()
floor_job = vim.fn.jobstart({ 'node', floor, argument }, { rpc = true })
vim.wait(20000, function() return port ~= nil end, 1)
local took = (vim.uv.hrtime() - start) / 1e6
return { took = took, port = port, pid = vim.fn.jobpid(floor_job) }
`;

/**
 * Starts host.ts as a server in this Neovim, and connects a client. The plugin is measured with the same kind of
 * client.
 */
export async function connectFloor(scope: Scope, nvim: Nvim, floor: string): Promise<CompanionClient> {
  const started = await nvim.lua(START_FLOOR, floor, "serve");
  const { port } = started as { port: number };
  const client = await connectClient(scope, { port, token: "any" });
  // Sends notifications until the client receives one. Earlier notifications are lost, because the client opens its
  // event stream only after its first request.
  await waitFor(async () => {
    await nvim.lua("vim.rpcnotify(floor_job, 'send', 'ide/contextUpdate', vim.empty_dict())");
    return client.received["ide/contextUpdate"].length > 0;
  }, "the floor's event stream");
  return client;
}
