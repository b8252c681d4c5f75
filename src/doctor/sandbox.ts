/** Explains why Gemini CLI does not find Neovim from its own sandbox. */
import { parseArgs } from "node:util";
import * as z from "zod";
import { type SettingsFile, setting } from "../profiles/settings.ts";
import { platform } from "../system/platform.ts";
import type { Variables } from "../system/system.ts";
import type { Findings } from "./findings.ts";

/** The setting is a boolean, the name of a program, or an object with both. */
const Sandbox = z.union([
  z.boolean(),
  z.string(),
  z
    .object({ enabled: z.boolean().default(false), command: z.string().optional() })
    .transform(({ enabled, command }) => enabled && (command ?? true)),
]);

const OPTIONS = {
  sandbox: { type: "boolean", short: "s" },
  "no-sandbox": { type: "boolean" },
  prompt: { type: "string", short: "p" },
} as const;

interface Sources {
  readonly env: Variables;
  readonly words: readonly string[];
  /** The CLI's settings files, those with higher priority first. */
  readonly files: readonly SettingsFile[];
}

/** Checks for a sandbox of Gemini CLI 0.61: the Seatbelt of macOS, or a container of Docker or Podman. */
export function checkSandbox(findings: Findings, sources: Sources): void {
  const found = findSandbox(sources);
  if (!found) return;
  const isSeatbelt =
    found.kind === "sandbox-exec" || (!/docker|podman/.test(found.kind) && platform.name === "darwin");
  if (isSeatbelt)
    findings.warn(
      `Gemini CLI runs in the sandbox of macOS (${found.from}): since 0.60, this sandbox has a temporary directory of its own, in which the CLI does not find Neovim`,
      "start the CLI without the sandbox, or in a container as in :help gemini-bridge-containers",
    );
  else
    findings.warn(
      `Gemini CLI runs in a container of its own (${found.from}): since 0.61, it gets neither the discovery file nor the token of Neovim, and has no hooks`,
      "start the CLI without the sandbox, or in a container as in :help gemini-bridge-containers",
    );
}

/** Returns the kind of sandbox, and what turns it on, in the order in which the CLI reads its configuration. */
function findSandbox({ env, words, files }: Sources): { kind: string; from: string } | undefined {
  const isOn = (value: string | boolean | undefined) =>
    value !== undefined && !["", "0", "false"].includes(String(value).toLowerCase());
  if (isOn(env["SANDBOX"])) return { kind: env["SANDBOX"] ?? "", from: "SANDBOX is set" };
  const variable = env["GEMINI_SANDBOX"];
  if (variable) return isOn(variable) ? { kind: variable, from: "GEMINI_SANDBOX is set" } : undefined;
  const parsed = parseArgs({ args: [...words], options: OPTIONS, strict: false, allowPositionals: true });
  const flag = parsed.values["no-sandbox"] === true ? false : parsed.values.sandbox;
  if (flag !== undefined) return isOn(flag) ? { kind: String(flag), from: "its command line" } : undefined;
  const said = setting(files, "tools.sandbox", Sandbox);
  return isOn(said?.value)
    ? { kind: String(said?.value), from: `tools.sandbox in ${said?.path}` }
    : undefined;
}
