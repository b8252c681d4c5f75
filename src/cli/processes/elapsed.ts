/**
 * @param elapsed how long a process has been running, as `ps` says it: `[[dd-]hh:]mm:ss`
 * @returns seconds
 */
export function secondsOf(elapsed: string): number {
  const [time = "", days = "0"] = elapsed.split("-").reverse();
  return time.split(":").reduce((sum, part) => sum * 60 + Number(part), Number(days) * 24);
}
