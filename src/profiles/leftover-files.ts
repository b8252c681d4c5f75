/** Detects discovery files of dead editors. */
import { connect } from "node:net";
import { platform } from "../system/platform.ts";
import { mayRun } from "../system/processes.ts";

/**
 * Timeout for connecting to a local port (ms). Normally, a local port accepts or refuses at once. After a timeout, the
 * port counts as used.
 */
const CONNECT_TIMEOUT_MS = 500;

/**
 * If a discovery file is younger than this (ms), its editor counts as alive without further checks.
 * src/discovery/keep-file.ts updates the files of running editors more often.
 */
const MAX_FILE_AGE_MS = 180_000;

/**
 * Tolerance for comparing a process's start time with a file's modification time (ms). Start times are exact only to
 * the second, and clocks may be adjusted.
 */
const START_TOLERANCE_MS = 5_000;

/** The highest process id that Linux and macOS assign. */
const MAX_PID = 2 ** 22;

/**
 * Whether the editor that wrote a discovery file has ended.
 * @param pid process id in the file; undefined if the file contains none
 * @param date modification time of the file (Unix milliseconds)
 */
export async function isLeftover(pid: number | undefined, port: number, date: number): Promise<boolean> {
  return !(await mayLive(pid, date)) && !(await isListening(port));
}

async function mayLive(pid: number | undefined, date: number): Promise<boolean> {
  // If the file was written recently, does not check the process: the process may be in another PID namespace, such as
  // a container's, and is then not visible.
  if ((pid ?? 0) <= MAX_PID && Math.abs(Date.now() - date) < MAX_FILE_AGE_MS) return true;
  if (pid === undefined || !mayRun(pid)) return false;
  // A process that started after the file was written has only reused the process id.
  const start = await platform.startOf(pid);
  return start === undefined || start <= date + START_TOLERANCE_MS;
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
