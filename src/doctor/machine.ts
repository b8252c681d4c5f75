/** Machines within machines: in which of them Neovim and a CLI find each other. */
import { dialsLoopback } from "../system/container.ts";
import type { Variables } from "../system/system.ts";
import type { Section } from "./contract.ts";
import { type Findings, section } from "./section.ts";

export interface Machine {
  /** What makes it look like a container. */
  readonly mark: string | undefined;
  /** Of the kernel: `os.release()`. */
  readonly release: string;
  readonly env: Variables;
  /** The program of Gemini CLI. */
  readonly program: string | undefined;
}

/** @returns nothing for a machine like any other */
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

/** A container's kernel may be that of WSL, too. */
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
    findings.warn(`${program} is the one of Windows`, "npm install -g @google/gemini-cli, in WSL");
}
