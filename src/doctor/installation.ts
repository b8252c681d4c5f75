/** Checks the requirements of the plugin: Node, npm, build, remote plugin. */
import { dirname, join } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import type { Profile } from "../profiles/profiles.ts";
import { findProgram } from "../system/program.ts";
import type { ProcessTable } from "../system/system.ts";
import type { Facts, Section } from "./contract.ts";
import { checkExtension } from "./extension.ts";
import { type Findings, section } from "./findings.ts";

/**
 * Checks the requirements of the plugin.
 * @param gemini the profile of Gemini CLI, if this CLI is enabled
 */
export function checkInstallation(
  facts: Facts | undefined,
  table: ProcessTable,
  gemini: Profile | undefined,
): Section {
  const findings = section("Installation");
  if (facts) findings.ok(`Neovim ${facts.version}`);
  checkNode(findings, facts !== undefined);
  if (facts) checkNpm(findings);
  if (facts?.isStale) findings.error("The Node part was updated but not rebuilt", ":GeminiBuild");
  else findings.ok("The Node part is built");
  if (facts?.isRegistered !== undefined) checkRemotePlugin(findings, facts.isRegistered);
  if (table.size === 0)
    findings.warn(
      "The program ps is missing: without it, a CLI does not find the process of its editor",
      "install the package procps",
    );
  if (gemini) checkExtension(findings, gemini);
  return findings;
}

function checkNode(findings: Findings, isInNeovim: boolean): void {
  const oldest = Number.parseInt(packageJson.engines.node.replace(/^\D+/, ""), 10);
  const version = process.versions.node;
  if (Number.parseInt(version, 10) >= oldest) findings.ok(`Node ${version}`);
  else
    findings.error(
      `Node ${version} is too old`,
      isInNeovim
        ? `install Node ${oldest} or later, or set the option node`
        : `install Node ${oldest} or later`,
    );
}

/**
 * Checks that npm is installed, which builds the Node part. Looks in the same places as `npm_problem` in
 * lua/gemini-bridge/host/build.lua.
 */
function checkNpm(findings: Findings): void {
  if (findProgram("npm", process.env) ?? findProgram(join(dirname(process.execPath), "npm"), {})) return;
  findings.warn(
    "npm is not on PATH: after an update, the Node part cannot be built",
    "install npm with Node, or as the package npm of your system",
  );
}

/**
 * Checks the remote plugin, which the option `host = "shared"` needs. The steps to register it fail silently:
 * `:UpdateRemotePlugins` prints nothing if the npm package neovim is missing, and Neovim ignores a new manifest until its
 * next start.
 */
function checkRemotePlugin(findings: Findings, isRegistered: boolean): void {
  if (isRegistered) findings.ok('host = "shared": the remote plugin is registered');
  else
    findings.error(
      'host = "shared" does not work, because the remote plugin is not registered',
      "run `npm install -g neovim`, then :UpdateRemotePlugins, then restart Neovim",
    );
}
