/**
 * Reads discovery files, and chooses an editor as a CLI does (Gemini CLI 0.61.0, `getConnectionConfigFromFile`). In
 * this way, the doctor and dist/neovim.cjs find the editor of a CLI.
 */
import { readdirSync, realpathSync } from "node:fs";
import { basename, delimiter, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import * as z from "zod";
import { attempt } from "../base/attempt.ts";
import { platform } from "../system/platform.ts";
import { isAlive } from "../system/processes.ts";
import { readSmallFile, type SmallFile } from "../system/small-file.ts";
import type { ProcessTable, System, Variables } from "../system/system.ts";
import { expand, readFileName } from "./discovery-paths.ts";
import { GEMINI, type Profile } from "./profiles.ts";

/** The content of a discovery file. A CLI accepts any object, and checks each field only when it needs the field. */
const Announcement = z.object({
  port: z.union([z.number(), z.string()]).optional().catch(undefined),
  workspacePath: z.string().optional().catch(undefined),
  authToken: z.string().optional().catch(undefined),
  /** Process id of the editor. Only in Qwen Code's files: their names do not contain the process id. */
  ppid: z.number().optional().catch(undefined),
  ideInfo: z.object({ name: z.string(), displayName: z.string() }).optional().catch(undefined),
});

/** A discovery file. The process id and the port come from the name of the file. */
export interface AnnouncedEditor extends Omit<SmallFile, "text"> {
  readonly path: string;
  readonly pid: number;
  readonly port: number;
  /** Whether the process of the editor exists. */
  readonly isAlive: boolean;
  /** Content of the discovery file; undefined if CLIs cannot parse the file. */
  readonly content: z.infer<typeof Announcement> | undefined;
}

/**
 * Reads all discovery files for the CLIs of a profile, in no particular order.
 * @param temporary the temporary directory
 */
export function announcedEditors(
  temporary: string,
  profile: Pick<Profile, "directory" | "file"> = GEMINI,
): AnnouncedEditor[] {
  const directory = expand(profile.directory.replace("{tmp}", () => temporary));
  return list(directory).flatMap((name) => {
    const { pid: named, port } = readFileName(profile, name) ?? {};
    if (port === undefined) return [];
    const path = join(directory, name);
    const file = attempt(() => readSmallFile(path));
    if (!file) return [];
    const { text, ...facts } = file;
    const content = attempt(() => Announcement.parse(JSON.parse(text)));
    const pid = named ?? content?.ppid;
    return pid === undefined ? [] : { path, pid, isAlive: isAlive(pid), port, ...facts, content };
  });
}

/**
 * Chooses an editor as a CLI does: the CLI connects to this editor, or names it in an error message if the connection
 * fails.
 * @param cli `idePid`: id of the process that the CLI considers its editor. `port`: the port in the CLI's environment
 */
export function chooseEditor(
  editors: readonly AnnouncedEditor[],
  { idePid, cwd, port }: { idePid: number; cwd: string; port?: string | undefined },
): AnnouncedEditor | undefined {
  const readable = editors.filter(({ content, uid }) => content && platform.isOwn(uid));
  const rank = (editor: AnnouncedEditor) => (editor.pid === idePid ? 2 : editor.isAlive ? 1 : 0);
  readable.sort((a, b) => rank(b) - rank(a) || b.pid - a.pid);
  const matching = readable.filter(({ content }) => contains(content?.workspacePath, cwd));
  const candidates = matching.length > 0 ? matching : readable;
  const named = candidates.find(({ content }) => port && String(content?.port) === port);
  return named ?? candidates[0];
}

/**
 * Finds the editor that a CLI would choose.
 * @param idePid id of the process that the CLI considers its editor, see {@link idePidOf}
 */
export function findEditor(
  { env, cwd }: { env: Variables; cwd: string },
  idePid: number,
): AnnouncedEditor | undefined {
  const port = env["GEMINI_CLI_IDE_SERVER_PORT"];
  return chooseEditor(announcedEditors(platform.temporaryDirectory(env)), { idePid, cwd, port });
}

/**
 * Returns the id of the process that a CLI considers its editor: the id in the CLI's environment, otherwise an ancestor
 * of the CLI.
 */
export function idePidOf({ pid, env }: { pid: number; env: Variables }, table: ProcessTable): number {
  const named = Number.parseInt(env["GEMINI_CLI_IDE_PID"] ?? "", 10);
  return named > 0 ? named : platform.editorProcess(table, pid);
}

/** Whether a directory is inside one of the roots in a `workspacePath`. Compares paths as a CLI does. */
export function contains(
  workspacePath: string | undefined,
  directory: string,
  system: System = platform,
): boolean {
  if (!workspacePath) return false;
  // In the files for Qwen Code, the roots are a JSON array if one of them contains the delimiter.
  const listed = attempt(() => z.array(z.string()).parse(JSON.parse(workspacePath)));
  return isWithin(listed ?? workspacePath.split(delimiter), directory, system);
}

/** Whether a directory is inside one of the roots. Compares paths as a CLI does. */
export function isWithin(roots: readonly string[], directory: string, system: System = platform): boolean {
  const inner = realPath(directory);
  return roots.some((root) => system.isWithin(realPath(resolve(directory, root)), inner));
}

/** Decodes a path or a `file://` URI as a CLI does, and resolves symbolic links. */
function realPath(path: string): string {
  const decoded = attempt(() => decodeURIComponent(path.startsWith("file://") ? fileURLToPath(path) : path));
  return realExisting(decoded ?? path);
}

/** Resolves the symbolic links in the existing part of a path. */
export function realExisting(path: string): string {
  const parent = dirname(path);
  const real = attempt(() => realpathSync(path));
  return real ?? (parent === path ? path : join(realExisting(parent), basename(path)));
}

/** Lists the names in a directory; none if the directory does not exist yet or cannot be read. */
export function list(directory: string): string[] {
  return attempt(() => readdirSync(directory)) ?? [];
}
