/** Defines the functions that differ between operating systems. Other code calls them through `platform`. */

/** Environment variables of a process. An empty variable counts as not set. */
export type Variables = Readonly<Record<string, string | undefined>>;

export interface Process {
  readonly pid: number;
  readonly parent: number;
  /** Time since the start of the process (seconds). */
  readonly seconds: number;
  /** Command line, with blanks between the arguments. */
  readonly command: string;
}

/** All processes at one moment, by process id. */
export type ProcessTable = ReadonlyMap<number, Process>;

/** The ports of a TCP connection: `own` at the process, `remote` at its peer. */
export interface Connection {
  own: number;
  remote: number;
}

/** Mount points (absolute paths). The value is true for a network drive. */
export type MountTable = ReadonlyMap<string, boolean>;

export interface System {
  /** Name of the operating system, as in `process.platform`. */
  readonly name: "linux" | "darwin";

  /** Returns the temporary directory that `os.tmpdir()` returns in a process with these variables. */
  temporaryDirectory(env: Variables): string;
  /** Returns the usual directory for a program's settings, as the npm package `env-paths` does. */
  settingsDirectory(program: string, env: Variables, home: string): string;

  /** Whether `inner` is the directory `outer` or is below this directory. Compares absolute paths as a CLI does. */
  isWithin(outer: string, inner: string): boolean;
  /** Whether a user id is that of the current user. */
  isOwn(uid: number): boolean;
  /** Whether only the owner can access a file with this mode. */
  isPrivate(mode: number): boolean;
  /**
   * Whether a user id stands for all users that are unknown on this system. In a rootless container, the host machine's
   * root is one of them.
   */
  isUnknownUser(uid: number): boolean;
  /** Arguments of `cp` for copying the metadata of a file. */
  readonly attributeCopy: readonly string[];
  /** Returns a path by which other processes of the user reach an open file of this process. Absent if there is none. */
  pathOfOpenFile?(descriptor: number): string;
  /** Reads the table of mounts. */
  mounts(): MountTable;

  /** Whether a process is a zombie: the process has ended, but its parent has not noticed this yet. */
  isDefunct(pid: number): boolean;
  /** Lists all processes. @returns an empty table if processes cannot be listed (a CLI cannot list them either) */
  processes(): Promise<ProcessTable>;
  /** Returns the id of the process that a CLI considers its editor (Gemini CLI 0.61.0, `process-utils`). */
  editorProcess(table: ProcessTable, cli: number): number;
  /** Returns the id of the process that a CLI considers its editor if process `pid` has started the CLI's shell. */
  editorAboveShell(table: ProcessTable, pid: number): number;
  /**
   * Returns the start time of a process. A later process with the same id has another start time.
   * @returns Unix milliseconds, exact to about a second; undefined if the time is unknown
   */
  startOf(pid: number): Promise<number | undefined>;
  /** Returns the environment variables with which a process was started; undefined if they cannot be read. */
  environment(pid: number): Promise<Record<string, string> | undefined>;
  /** Returns the working directory of a process; undefined if it cannot be read. */
  directory(pid: number): Promise<string | undefined>;
  /** Returns the arguments of a process. On macOS, splits the command line at blanks. */
  words(pid: number): Promise<string[]>;
  /** Returns the TCP connections from these processes to these remote ports. */
  connections(pids: readonly number[], ports: readonly number[]): Promise<Connection[]>;
}
