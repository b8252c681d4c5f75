/**
 * Builds and starts host.ts, a minimal host. Its times are the lower limit (the floor) for the times of the plugin. The
 * minimal host is bundled in the same way as the plugin's host.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import type { Scope } from "../../test/support/scope.ts";

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

/** Lua that starts host.ts. Returns the time until the host has attached to Neovim (ms), and its process id. */
export const START_FLOOR = `
local is_attached = false
floor_attached = function() is_attached = true end
local start = vim.uv.hrtime()
floor_job = vim.fn.jobstart({ 'node', ... }, { rpc = true })
vim.wait(20000, function() return is_attached end, 1)
return { took = (vim.uv.hrtime() - start) / 1e6, pid = vim.fn.jobpid(floor_job) }
`;
