/** What differs between operating systems. The rest of src asks `here` and knows none of them. */

/** Of a process's environment; what is empty counts as not set. */
export type Variables = Readonly<Record<string, string | undefined>>;

export interface Process {
  readonly pid: number;
  readonly parent: number;
  /** How long it has been running. */
  readonly seconds: number;
  /** Its command line, the arguments separated by blanks. */
  readonly command: string;
}

/** All processes of one moment, by their ids. */
export type ProcessTable = ReadonlyMap<number, Process>;

/** The ports at both ends of a TCP connection, seen from the process whose it is. */
export interface Connection {
  own: number;
  remote: number;
}

/** Whether what is mounted is a network, by its absolute path. */
export type MountTable = ReadonlyMap<string, boolean>;

export interface System {
  /** As Node calls it. */
  readonly name: "linux" | "darwin";

  /** Node's `os.tmpdir()` for a process with these variables. */
  temporaryDirectory(env: Variables): string;
  /** Where a program keeps its settings that follows the habits of each system (npm's `env-paths`). */
  settingsDirectory(program: string, env: Variables, home: string): string;

  /** Whether a CLI takes one directory for the other or one below it; both absolute. */
  isWithin(outer: string, inner: string): boolean;
  /** Whether a file with this owner is the user's own. */
  isOwn(uid: number): boolean;
  /** Whether nobody else can read a file with these permissions. */
  isPrivate(mode: number): boolean;
  /** Whether a user is one that this system does not know: root of the machine, too, in a rootless container. */
  isUnknownUser(uid: number): boolean;
  /** Arguments with which `cp` copies all that a file has beside its bytes. */
  readonly attributeCopy: readonly string[];
  /** What is mounted where. */
  mounts(): MountTable;

  /** @returns an empty table where the system tells nothing; a CLI then finds as little */
  processes(): Promise<ProcessTable>;
  /** The process that a CLI takes for its editor (Gemini CLI 0.61.0, `process-utils`). */
  editorProcess(table: ProcessTable, cli: number): number;
  /** The same for a CLI in a shell that `pid` has started. */
  editorAboveShell(table: ProcessTable, pid: number): number;
  /**
   * When a process began: its number alone does not tell it from one that had it before.
   * @returns Unix milliseconds, exact to about a second; nothing when there is no such process, or nobody tells
   */
  startOf(pid: number): Promise<number | undefined>;
  /** The variables that a process was started with; nothing where the system does not tell. */
  environment(pid: number): Promise<Record<string, string> | undefined>;
  /** The directory that it is in; nothing where the system does not tell. */
  directory(pid: number): Promise<string | undefined>;
  /** Its command line; where the system does not keep the arguments apart, split at blanks. */
  words(pid: number): Promise<string[]>;
  /** The connections of these processes to one of these ports, of any machine. */
  connections(pids: readonly number[], ports: readonly number[]): Promise<Connection[]>;
}
