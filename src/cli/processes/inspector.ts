/** What a system tells about one process; what it does not tell is left out. */
export interface Inspector {
  /** The variables it was started with. */
  environment(pid: number): Promise<Record<string, string> | undefined>;
  /** The directory it is in. */
  directory(pid: number): Promise<string | undefined>;
  /** Its command line; where the system does not keep the arguments apart, split at blanks. */
  words(pid: number): Promise<string[]>;
  /** The connections of these processes to one of these ports, of any machine. */
  connections(pids: readonly number[], ports: readonly number[]): Promise<Connection[]>;
}

/** The ports at both ends of a TCP connection, seen from the process whose it is. */
export interface Connection {
  own: number;
  remote: number;
}
