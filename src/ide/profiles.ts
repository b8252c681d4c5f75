/**
 * The CLIs of the companion protocol: what differs between them, as data. Read in, and run with, Gemini CLI 0.61.0 and
 * Qwen Code 0.24.4; read in LLxprt Code.
 */
import { accessSync, constants, existsSync } from "node:fs";
import { homedir, platform, tmpdir } from "node:os";
import { basename, delimiter, dirname, isAbsolute, join } from "node:path";
import * as z from "zod";

/** A settings file over which all others win. */
export interface SystemDefaults {
  /** Names the file. */
  readonly variable: string;
  /** Names the administrator's settings, beside which the file is otherwise. */
  readonly settings: string;
  /** Where those are when nothing names them. */
  readonly directory: string;
  /** The CLI believes the file only where nobody but root can change it. */
  readonly isRootsOnly: boolean;
}

export interface Profile {
  readonly name: string;
  /** The known CLI that it is, or is a descendant of. */
  readonly like: keyof typeof KNOWN;
  /** What the user knows it as. */
  readonly label: string;
  /** Its program, and the arguments of `:Gemini` before the user's. */
  readonly cmd: readonly string[];
  /** Where every editor's discovery files are: in the home directory, `~`, or the temporary one, `{tmp}`. */
  readonly directory: string;
  /** A variable that names another directory in which the last one of these is. */
  readonly home: string | undefined;
  /** The name of a discovery file, with the editor's process, `{pid}`, and the server's port, `{port}`. */
  readonly file: string;
  /** The beginning of the names of its variables. */
  readonly env: string;
  /** What it wants of a discovery file's content: see src/ide/wire.ts. */
  readonly content: "plain" | "lock";
  readonly defaults: SystemDefaults | undefined;
}

type Known = Omit<Profile, "name" | "like" | "cmd">;

const isMac = platform() === "darwin";

/** All begin with what Gemini CLI has; the others are its descendants. */
const KNOWN = {
  gemini: {
    label: "Gemini CLI",
    directory: "{tmp}/gemini/ide",
    home: undefined,
    file: "gemini-ide-server-{pid}-{port}.json",
    env: "GEMINI_CLI_IDE_",
    content: "plain",
    defaults: {
      variable: "GEMINI_CLI_SYSTEM_DEFAULTS_PATH",
      settings: "GEMINI_CLI_SYSTEM_SETTINGS_PATH",
      directory: isMac ? "/Library/Application Support/GeminiCli" : "/etc/gemini-cli",
      isRootsOnly: true,
    },
  },
  qwen: {
    label: "Qwen Code",
    directory: "~/.qwen/ide",
    home: "QWEN_HOME",
    file: "{port}.lock",
    env: "QWEN_CODE_IDE_",
    content: "lock",
    defaults: {
      variable: "QWEN_CODE_SYSTEM_DEFAULTS_PATH",
      settings: "QWEN_CODE_SYSTEM_SETTINGS_PATH",
      directory: isMac ? "/Library/Application Support/QwenCode" : "/etc/qwen-code",
      isRootsOnly: false,
    },
  },
  llxprt: {
    label: "LLxprt Code",
    directory: "{tmp}/llxprt/ide",
    home: undefined,
    file: "llxprt-ide-server-{pid}-{port}.json",
    env: "LLXPRT_CODE_IDE_",
    content: "plain",
    defaults: undefined,
  },
} satisfies Record<string, Known>;

const name = z.enum(["gemini", "qwen", "llxprt"]);

/** The option `clis`, with the programs of those that it does not name, as Lua has checked it. */
export const Clis = z.array(
  z.object({
    name: z.string(),
    /** The known one that it is a descendant of. */
    like: name,
    cmd: z.array(z.string()).min(1),
    label: z.string().optional(),
    directory: z.string().optional(),
    file: z.string().optional(),
    env: z.string().optional(),
  }),
);
export type Clis = z.infer<typeof Clis>;

export const GEMINI: Profile = { name: "gemini", like: "gemini", cmd: ["gemini"], ...KNOWN.gemini };

/** What is known, changed as the user says. */
export function profilesOf(clis: Clis): Profile[] {
  return clis.map(({ name, like, cmd, ...changes }) => {
    const known = KNOWN[like];
    return {
      name,
      like,
      cmd,
      label: changes.label ?? (name === like ? known.label : name),
      directory: changes.directory ?? known.directory,
      home: changes.directory === undefined ? known.home : undefined,
      file: changes.file ?? known.file,
      env: changes.env ?? known.env,
      content: known.content,
      // What a descendant calls its own is not known.
      defaults: name === like ? known.defaults : undefined,
    };
  });
}

/** Whether a CLI may look for this editor: in the home directory nothing is made for one that is not there. */
export function isActive(profile: Profile): boolean {
  return (
    profile.directory.startsWith("{tmp}") ||
    existsSync(dirname(directoryOf(profile))) ||
    isExecutable(profile.cmd[0] ?? "")
  );
}

/** The directory of the discovery files; absolute. */
export function directoryOf({ directory, home }: Profile): string {
  const own = home === undefined ? undefined : process.env[home];
  if (own) return join(own, basename(directory));
  return directory.replace(/^\{tmp\}/, tmpdir()).replace(/^~(?=\/)/, homedir());
}

/** The discovery file's name for an editor's process and the server's port. */
export function fileName({ file }: Profile, pid: number, port: number): string {
  return file.replace("{pid}", String(pid)).replace("{port}", String(port));
}

/** What a name that a CLI reads in the directory says; nothing for another file's. */
export function readFileName(
  { file }: Profile,
  name: string,
): { pid?: number | undefined; port?: number | undefined } | undefined {
  const escaped = file.replace(/[.*+?^$()|[\]\\]/g, "\\$&");
  const pattern = escaped.replace("{pid}", "(?<pid>\\d+)").replace("{port}", "(?<port>\\d+)");
  const groups = new RegExp(`^${pattern}$`).exec(name)?.groups;
  const number = (text: string | undefined) => (text === undefined ? undefined : Number(text));
  return groups && { pid: number(groups["pid"]), port: number(groups["port"]) };
}

/** Whether a program can be run: a path, or a name on PATH. */
export function isExecutable(program: string): boolean {
  const paths = isAbsolute(program)
    ? [program]
    : (process.env["PATH"] ?? "").split(delimiter).map((directory) => join(directory, program));
  return paths.some((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
