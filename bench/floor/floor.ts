/**
 * Builds and starts host.ts: the minimal host whose times are the lower limit (the floor) for those of the plugin.
 * Bundles it in the same way as the plugin's host.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { type CompanionClient, connectClient } from "../../test/support/client.ts";
import type { Nvim } from "../../test/support/nvim.ts";
import type { Scope } from "../../test/support/scope.ts";
import { waitFor } from "../../test/support/wait.ts";

/** @returns the path of the bundle */
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

/** Lua that starts host.ts. Returns the time until it has attached to Neovim (ms), its port and its process id. */
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

/** Starts host.ts as a server in this Neovim, and connects a client of the same kind as for measuring the plugin. */
export async function connectFloor(scope: Scope, nvim: Nvim, floor: string): Promise<CompanionClient> {
  const started = await nvim.lua(START_FLOOR, floor, "serve");
  const { port } = started as { port: number };
  const client = await connectClient(scope, { port, token: "any" });
  // Sends repeatedly until a notification arrives. The first ones are lost, because the client opens its event stream
  // only after its first request.
  await waitFor(async () => {
    await nvim.lua("vim.rpcnotify(floor_job, 'send', 'ide/contextUpdate', vim.empty_dict())");
    return client.received["ide/contextUpdate"].length > 0;
  }, "the floor's event stream");
  return client;
}
