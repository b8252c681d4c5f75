/** What a CLI's command line says about asking before it writes (Gemini CLI 0.61.0, `parseArguments`). */
import { parseArgs } from "node:util";

export interface Flags {
  /** From `--approval-mode` or `--yolo`, with the flag as it is to be told. */
  readonly mode: { readonly name: string; readonly flag: string } | undefined;
  readonly allowedTools: readonly string[];
  /** Files or directories of policies. */
  readonly policies: readonly string[];
  readonly adminPolicies: readonly string[];
  /** Trust the directory whatever else says. */
  readonly trusts: boolean;
}

const text = { type: "string" } as const;
const list = { type: "string", multiple: true } as const;

const options = {
  yolo: { type: "boolean", short: "y" },
  "skip-trust": { type: "boolean" },
  "approval-mode": text,
  "allowed-tools": list,
  policy: list,
  "admin-policy": list,
  // Not looked at: so that a prompt or a name is not taken for a flag.
  prompt: { ...text, short: "p" },
  "prompt-interactive": { ...text, short: "i" },
  model: { ...text, short: "m" },
  extensions: { ...list, short: "e" },
  "output-format": { ...text, short: "o" },
} as const;

/** @param words the command line, from the program on or from the interpreter before it */
export function readFlags(words: readonly string[]): Flags {
  const { values } = parseArgs({ args: [...words], options, strict: false, allowPositionals: true });
  const mode = values["approval-mode"];
  return {
    mode:
      typeof mode === "string"
        ? { name: mode, flag: `--approval-mode ${mode}` }
        : isSet(values.yolo)
          ? { name: "yolo", flag: "--yolo" }
          : undefined,
    allowedTools: names(values["allowed-tools"]),
    policies: names(values.policy),
    adminPolicies: names(values["admin-policy"]),
    trusts: isSet(values["skip-trust"]),
  };
}

/** `--yolo=false` is a text where `--yolo` is none. */
function isSet(value: unknown): boolean {
  return value !== undefined && value !== false && value !== "false";
}

/** The flag may be given several times, and hold several names each. */
function names(values: unknown): string[] {
  return [values]
    .flat()
    .flatMap((value) => (typeof value === "string" ? value.split(",") : []))
    .map((name) => name.trim())
    .filter((name) => name !== "");
}
