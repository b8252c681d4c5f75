/** Explains containers and WSL: where Neovim and a CLI can find each other. */
import { dialsLoopback } from "../system/container.ts";
import type { Variables } from "../system/system.ts";
import type { Section } from "./contract.ts";
import { type Findings, section } from "./section.ts";

export interface Machine {
  /** File by which a CLI takes this machine for a container. */
  readonly mark: string | undefined;
  /** Kernel release: `os.release()`. */
  readonly release: string;
  readonly env: Variables;
  /** Path of Gemini CLI. */
  readonly program: string | undefined;
}

/** @returns undefined for an ordinary machine */
export function checkMachine(machine: Machine): Section | undefined {
  const findings = section("This machine");
  if (machine.mark !== undefined) explainContainer(findings, machine);
  else if (isWsl(machine)) explainWsl(findings, machine);
  return findings.items.length > 0 ? findings : undefined;
}

function explainContainer(findings: Findings, { mark, env }: Machine): void {
  const name = dialsLoopback(env);
  findings.info(`A container: ${mark} is there${name === undefined ? "" : `, and ${name} is set`}`);
  findings.info("works: Neovim and the CLI in it, by :Gemini, or in a shell with the lines of :GeminiEnv");
  findings.info(
    "works: the CLI in it, Neovim outside, when it is set up; see :help gemini-bridge-containers",
  );
  findings.info("does not work: Neovim in it, the CLI outside, which does not get at the container's port");
}

/** A container may run on the kernel of WSL. */
function isWsl({ release, env }: Machine): boolean {
  return /microsoft/i.test(release) || Boolean(env["WSL_DISTRO_NAME"]);
}

function explainWsl(findings: Findings, { env, program }: Machine): void {
  findings.info(`WSL${env["WSL_DISTRO_NAME"] ? `, ${env["WSL_DISTRO_NAME"]}` : ""}`);
  findings.info("works: Neovim and the CLI in it, as on every Linux");
  findings.info(
    "works: Neovim in it, the CLI in a container, when it is set up; see :help gemini-bridge-containers",
  );
  findings.info("does not work: one of them on Windows, where paths and temporary directories are others");
  if (program !== undefined && /^\/mnt\/[a-z]\//.test(program))
    findings.warn(`${program} is a program of Windows`, "npm install -g @google/gemini-cli, in WSL");
}
