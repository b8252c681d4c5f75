/** Explains containers, sandboxes and WSL: where Neovim and a CLI can find each other. */
import { release } from "node:os";
import * as z from "zod";
import { type SettingsFile, setting } from "../profiles/settings.ts";
import { containerMark } from "../system/container.ts";
import type { Variables } from "../system/system.ts";
import type { Section } from "./contract.ts";
import { type Findings, section } from "./findings.ts";

/** @returns undefined for a machine that is neither a container nor WSL */
export function checkMachine(env: Variables): Section | undefined {
  const mark = containerMark();
  const isWsl = /microsoft/i.test(release()) || Boolean(env["WSL_DISTRO_NAME"]);
  if (mark === undefined && !isWsl) return undefined;
  const findings = section("This machine");
  findings.info(mark === undefined ? "This is WSL" : `This is a container: ${mark} exists`);
  findings.info(
    "Neovim and the CLI find each other if both run here. Start the CLI with :Gemini, or run the lines of :GeminiEnv first. For other setups, see :help gemini-bridge-containers",
  );
  return findings;
}

/**
 * Checks whether Gemini CLI starts a sandbox, in which it does not find Neovim.
 * @param words words of its command line
 * @param files the CLI's settings files, those with higher priority first
 */
export function checkSandbox(
  findings: Findings,
  env: Variables,
  words: readonly string[],
  files: readonly SettingsFile[],
): void {
  const variable = ["SANDBOX", "GEMINI_SANDBOX"].find((name) => env[name]);
  const said = setting(files, "tools.sandbox", z.unknown());
  const from = variable
    ? `${variable} is ${env[variable]}`
    : words.some((word) => /^(-s|--sandbox(=.*)?)$/.test(word))
      ? "its command line has --sandbox"
      : said?.value
        ? `tools.sandbox is set in ${said.path}`
        : undefined;
  if (from !== undefined)
    findings.warn(
      `Gemini CLI may run in a sandbox of its own (${from}), in which it does not find Neovim`,
      "start the CLI without the sandbox, or in a container as in :help gemini-bridge-containers",
    );
}
