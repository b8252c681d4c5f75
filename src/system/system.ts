/** Defines the functions that differ between operating systems. Other code calls them through `platform`. */

/** Environment variables of a process. An empty one counts as not set. */
export type Variables = Readonly<Record<string, string | undefined>>;

export interface Process {
  readonly pid: number;
  readonly parent: number;
  /** Seconds since its start. */
  readonly seconds: number;
  /** Command line, with the arguments separated by blanks. */
  readonly command: string;
}

/** All processes at one moment, by id. */
export type ProcessTable = ReadonlyMap<number, Process>;

/** The ports of a TCP connection, seen from its process. */
export interface Connection {
  own: number;
  remote: number;
}

/** Mount points (absolute paths), with whether they are network drives. */
export type MountTable = ReadonlyMap<string, boolean>;

export interface System {
  /** As in `process.platform`. */
  readonly name: "linux" | "darwin";

  /** Returns Node's `os.tmpdir()` for a process with these variables. */
  temporaryDirectory(env: Variables): string;
  /** Returns the usual settings directory of a program (npm's `env-paths`). */
  settingsDirectory(program: string, env: Variables, home: string): string;

  /** Whether the inner directory is the outer one or below it, as a CLI compares them. Both paths are absolute. */
  isWithin(outer: string, inner: string): boolean;
  /** Whether this owner is the current user. */
  isOwn(uid: number): boolean;
  /** Whether a file with this mode is only for its owner. */
  isPrivate(mode: number): boolean;
  /** Whether this id stands for unknown users. In a rootless container, root of the host machine has this id. */
  isUnknownUser(uid: number): boolean;
  /** Arguments with which `cp` copies the metadata of a file. */
  readonly attributeCopy: readonly string[];
  /** Reads the mount points. */
  mounts(): MountTable;

  /** Whether a process has ended, and only waits for its parent to notice. */
  isDefunct(pid: number): boolean;
  /** @returns an empty table if the processes cannot be read; a CLI then finds none either */
  processes(): Promise<ProcessTable>;
  /** Returns the process that a CLI takes for its editor (Gemini CLI 0.61.0, `process-utils`). */
  editorProcess(table: ProcessTable, cli: number): number;
  /** Returns the process that a CLI takes for its editor, if `pid` has started the CLI's shell. */
  editorAboveShell(table: ProcessTable, pid: number): number;
  /**
   * Returns the start of a process, because process ids are reused.
   * @returns Unix milliseconds, exact to about a second; undefined if it is unknown
   */
  startOf(pid: number): Promise<number | undefined>;
  /** Returns the variables that a process was started with; undefined if they cannot be read. */
  environment(pid: number): Promise<Record<string, string> | undefined>;
  /** Returns the working directory of a process; undefined if it cannot be read. */
  directory(pid: number): Promise<string | undefined>;
  /** Returns the arguments of a process. On macOS, the command line is split at blanks. */
  words(pid: number): Promise<string[]>;
  /** Returns the connections of these processes to these remote ports. */
  connections(pids: readonly number[], ports: readonly number[]): Promise<Connection[]>;
}
