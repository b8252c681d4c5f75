/** Defines the functions that differ between operating systems. Other code calls them through `platform`. */

/** Environment variables of a process. An empty variable counts as not set. */
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

/** The ports of a TCP connection: that of the process, and that of its peer. */
export interface Connection {
  own: number;
  remote: number;
}

/** Mount points (absolute paths). The value is true for a network drive. */
export type MountTable = ReadonlyMap<string, boolean>;

export interface System {
  /** As in `process.platform`. */
  readonly name: "linux" | "darwin";

  /** Returns Node's `os.tmpdir()` for a process with these variables. */
  temporaryDirectory(env: Variables): string;
  /** Returns the usual settings directory of a program (npm's `env-paths`). */
  settingsDirectory(program: string, env: Variables, home: string): string;

  /** Whether `inner` is the directory `outer` or below it. Compares absolute paths as a CLI does. */
  isWithin(outer: string, inner: string): boolean;
  /** Whether this user id is that of the current user. */
  isOwn(uid: number): boolean;
  /** Whether a file with this mode can be accessed only by its owner. */
  isPrivate(mode: number): boolean;
  /**
   * Whether this id stands for all users that are unknown on this system. In a rootless container, one of them is the
   * host machine's root.
   */
  isUnknownUser(uid: number): boolean;
  /** Arguments with which `cp` copies the metadata of a file. */
  readonly attributeCopy: readonly string[];
  /** Reads the mount points. */
  mounts(): MountTable;

  /** Whether a process is a zombie: it has ended, but its parent has not noticed yet. */
  isDefunct(pid: number): boolean;
  /** Lists all processes. @returns an empty table if they cannot be listed (a CLI cannot list them either) */
  processes(): Promise<ProcessTable>;
  /** Returns the process that a CLI takes for its editor (Gemini CLI 0.61.0, `process-utils`). */
  editorProcess(table: ProcessTable, cli: number): number;
  /** Returns the process that a CLI takes for its editor if process `pid` has started the CLI's shell. */
  editorAboveShell(table: ProcessTable, pid: number): number;
  /**
   * Returns the start time of a process. It shows whether a process id was reused.
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
