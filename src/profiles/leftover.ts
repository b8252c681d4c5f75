/** Tells the discovery file of a dead editor from that of a running one. */
import { connect } from "node:net";
import { here } from "../system/here.ts";

/** A local port answers or refuses at once. One that does neither counts as alive. */
const CONNECT_TIMEOUT_MS = 500;

/** A running editor updates the date of its file more often than this: see src/discovery/discovery.ts. */
const MAX_FILE_AGE_MS = 180_000;

/** The start of a process is known to the second, and clocks are adjusted. */
const START_TOLERANCE_MS = 5_000;

/** The highest process id of Linux and macOS, in any namespace. */
const MAX_PID = 2 ** 22;

/**
 * Whether the editor that wrote a discovery file has died.
 * @param pid none where the file does not say
 * @param date of the file, Unix milliseconds
 */
export async function isLeftover(pid: number | undefined, port: number, date: number): Promise<boolean> {
  return !(await mayLive(pid, date)) && !(await isListening(port));
}

async function mayLive(pid: number | undefined, date: number): Promise<boolean> {
  // In another PID namespace, as a container has it, the number tells nothing: the date has to do.
  if ((pid ?? 0) <= MAX_PID && Math.abs(Date.now() - date) < MAX_FILE_AGE_MS) return true;
  if (pid === undefined || !isRunning(pid)) return false;
  // A process that began after the file's date has only inherited the number of the one that wrote it.
  const start = await here.startOf(pid);
  return start === undefined || start <= date + START_TOLERANCE_MS;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Any other error (EPERM) tells of a process that exists.
    return !(error instanceof Error && "code" in error && error.code === "ESRCH");
  }
}

function isListening(port: number): Promise<boolean> {
  if (port < 1 || port > 65_535) return Promise.resolve(false);
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port });
    const answer = (alive: boolean) => {
      socket.destroy();
      resolve(alive);
    };
    socket.setTimeout(CONNECT_TIMEOUT_MS, () => answer(true));
    socket.once("connect", () => answer(true));
    socket.once("error", () => answer(false));
  });
}
