/** Gemini CLI's policy files: rules about which tools run without a question (0.61.0, `loadPoliciesFromToml`). */
import { readdirSync, statSync } from "node:fs";
import { join, normalize } from "node:path";
import { parse } from "smol-toml";
import * as z from "zod";
import { administratorsDirectory, homeDirectory, userDirectory } from "../profiles/cli.ts";
import { weakness } from "../system/secure.ts";
import { readSmallFile } from "../system/small-file.ts";
import type { Variables } from "../system/system.ts";

const WrittenRule = z.object({
  toolName: z.union([z.string(), z.array(z.string())]),
  decision: z.enum(["allow", "deny", "ask_user"]),
  priority: z.int().min(0).max(999),
  /** The approval modes in which it holds, all when there are none. */
  modes: z.array(z.string()).optional(),
  /** Conditions on the call. */
  interactive: z.boolean().optional(),
  argsPattern: z.string().optional(),
  commandPrefix: z.unknown().optional(),
  commandRegex: z.unknown().optional(),
  mcpName: z.string().optional(),
  subagent: z.string().optional(),
  toolAnnotations: z.unknown().optional(),
});
export type WrittenRule = z.infer<typeof WrittenRule>;

const PolicyText = z.object({ rule: z.array(WrittenRule).optional() });

export interface PolicyFile {
  readonly path: string;
  /** The administrator's win over the user's, whatever the priority. */
  readonly tier: "user" | "admin";
  readonly rules: readonly WrittenRule[];
  /** The CLI complains of it and leaves it out. */
  readonly isBroken: boolean;
}

/**
 * @param named files and directories: `user` instead of the user's own, `admin` beside the administrator's, which count
 *   where the system has none
 */
export function readPolicyFiles(
  env: Variables,
  named: { user: readonly string[]; admin: readonly string[] },
): PolicyFile[] {
  const expand = (path: string) => normalize(path.replace(/^~(?=\/|$)/, homeDirectory(env)));
  const system = join(administratorsDirectory(), "policies");
  const ofSystem = filesIn(system);
  const isTrusted = ofSystem.length > 0 && weakness(system) === undefined;
  const ofAdmin =
    ofSystem.length === 0 ? named.admin.map(expand).flatMap(filesIn) : isTrusted ? ofSystem : [];
  const user = named.user.length > 0 ? named.user.map(expand) : [join(userDirectory(env), "policies")];
  return [
    ...ofAdmin.map((path) => read(path, "admin")),
    ...user.flatMap(filesIn).map((path) => read(path, "user")),
  ];
}

/** A file itself, or those directly in a directory, by their ending. */
function filesIn(path: string): string[] {
  try {
    if (!statSync(path).isDirectory()) return path.endsWith(".toml") ? [path] : [];
    const entries = readdirSync(path, { withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith(".toml"));
    return files.map(({ name }) => join(path, name)).sort();
  } catch {
    return []; // no such path, or not ours to read
  }
}

function read(path: string, tier: PolicyFile["tier"]): PolicyFile {
  try {
    const text = readSmallFile(path)?.text ?? "";
    return { path, tier, rules: PolicyText.parse(parse(text)).rule ?? [], isBroken: false };
  } catch {
    return { path, tier, rules: [], isBroken: true };
  }
}
