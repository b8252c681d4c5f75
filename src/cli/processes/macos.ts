/** What macOS, like any system without /proc, tells about a process: through `ps` and `lsof`. */
import type { Inspector } from "./inspector.ts";
import { run } from "./run.ts";

export const macos: Inspector = {
  /** What looks like a variable inside a value cuts that value short: `ps` prints one line, the command first. */
  async environment(pid) {
    const printed = await run("ps", ["eww", "-o", "command=", "-p", String(pid)]);
    const starts = [...printed.matchAll(/\s([A-Za-z_]\w*)=/g)];
    if (starts.length === 0) return undefined;
    const entries = starts.map((start, index) => {
      const value = printed.slice(start.index + start[0].length, starts[index + 1]?.index);
      return [start[1] ?? "", value.trim()] as const;
    });
    return Object.fromEntries(entries);
  },
  async directory(pid) {
    const printed = await run("lsof", ["-a", "-p", String(pid), "-d", "cwd", "-Fn"]);
    return /^n(.+)$/m.exec(printed)?.[1];
  },
  async words(pid) {
    const printed = await run("ps", ["-ww", "-o", "command=", "-p", String(pid)]);
    return printed.trim().split(/\s+/);
  },
  async connections(pids, ports) {
    if (ports.length === 0) return [];
    const address = `-iTCP:${ports.join(",")}`;
    const printed = await run("lsof", [
      "-nP",
      "-a",
      "-p",
      pids.join(","),
      address,
      "-sTCP:ESTABLISHED",
      "-Fn",
    ]);
    return [...printed.matchAll(/^n\S+:(\d+)->\S+:(\d+)$/gm)]
      .map(([, own, remote]) => ({ own: Number(own), remote: Number(remote) }))
      .filter(({ remote }) => ports.includes(remote));
  },
};
