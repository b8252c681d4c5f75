/** Explains containers and WSL: where Neovim and a CLI can find each other. */
import { dialsLoopback } from "../system/container.ts";
import type { Variables } from "../system/system.ts";
import type { Section } from "./contract.ts";
import { type Findings, section } from "./findings.ts";

export interface Machine {
  /** Path of the file by which CLIs recognize a container; undefined outside a container. */
  readonly mark: string | undefined;
  /** Kernel release, as from `os.release()`. */
  readonly release: string;
  readonly env: Variables;
  /** Path of Gemini CLI. */
  readonly program: string | undefined;
}

/**
 * Explains the network of a container or of WSL.
 * @returns undefined for a machine that is neither a container nor WSL
 */
export function checkMachine(machine: Machine): Section | undefined {
  const findings = section("This machine");
  if (machine.mark !== undefined) explainContainer(findings, machine);
  else if (isWsl(machine)) explainWsl(findings, machine);
  return findings.items.length > 0 ? findings : undefined;
}

function explainContainer(findings: Findings, { mark, env }: Machine): void {
  const name = dialsLoopback(env);
  findings.info(`This is a container: ${mark} exists${name === undefined ? "" : `, and ${name} is set`}`);
  findings.info(
    "works: Neovim and the CLI in the container; start the CLI with :Gemini, or run the lines of :GeminiEnv first",
  );
  findings.info(
    "works with some setup: the CLI in the container, Neovim outside; see :help gemini-bridge-containers",
  );
  findings.info(
    "does not work: Neovim in the container, the CLI outside, because it cannot reach the container's port",
  );
}

/**
 * Recognizes WSL by the kernel's name. Must not be called in a container, because a container on WSL has the same
 * kernel.
 */
function isWsl({ release, env }: Machine): boolean {
  return /microsoft/i.test(release) || Boolean(env["WSL_DISTRO_NAME"]);
}

function explainWsl(findings: Findings, { env, program }: Machine): void {
  findings.info(`WSL${env["WSL_DISTRO_NAME"] ? `, ${env["WSL_DISTRO_NAME"]}` : ""}`);
  findings.info("works: Neovim and the CLI in WSL, as on every Linux");
  findings.info(
    "works with some setup: Neovim in WSL, the CLI in a container; see :help gemini-bridge-containers",
  );
  findings.info("does not work: one of them on Windows, because paths and temporary directories differ");
  if (program !== undefined && /^\/mnt\/[a-z]\//.test(program))
    findings.warn(`${program} is a Windows program`, "npm install -g @google/gemini-cli, in WSL");
}
