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
  const also = name === undefined ? "" : `, and ${name} is set`;
  findings.info(`This is a container: ${mark} exists${also}`);
  findings.info(
    "This works: Neovim and the CLI in the container. Start the CLI with :Gemini, or run the lines of :GeminiEnv first",
  );
  findings.info(
    "This works with some setup: the CLI in the container, Neovim outside. See :help gemini-bridge-containers",
  );
  findings.info(
    "This does not work: Neovim in the container, the CLI outside, because the CLI cannot reach the container's port",
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
  const distribution = env["WSL_DISTRO_NAME"];
  findings.info(distribution ? `This is WSL, ${distribution}` : "This is WSL");
  findings.info("This works: Neovim and the CLI in WSL, as on every Linux");
  findings.info(
    "This works with some setup: Neovim in WSL, the CLI in a container. See :help gemini-bridge-containers",
  );
  findings.info(
    "This does not work: Neovim or the CLI on Windows, because paths and temporary directories differ",
  );
  if (program !== undefined && /^\/mnt\/[a-z]\//.test(program))
    findings.warn(`${program} is a Windows program`, "run this in WSL: npm install -g @google/gemini-cli");
}
