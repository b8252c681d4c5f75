/**
 * Finds the CLI for a prompt: in a terminal of `:Gemini`, or in a terminal that the user or another program has opened.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Clis } from "../contract/clis.ts";
import type { CallResult, EventPayload } from "../contract/neovim.ts";
import type { Bridge } from "../neovim/bridge.ts";
import { platform } from "../system/platform.ts";
import { familyOf, isAlive, processesOf, runsProgram } from "../system/processes.ts";
import { type Cli, createCli } from "./screen-state.ts";
import { drawingOf } from "./screens.ts";
import type { Buffers, Terminal } from "./terminal.ts";
import { paneTerminal, tmux } from "./tmux.ts";

/** Polling interval until the program in a terminal has started (ms). */
const START_INTERVAL_MS = 50;

/** Interval (ms) and number of attempts to find a CLI in a terminal outside Neovim. */
const FIND_INTERVAL_MS = 1_000;
const FIND_ATTEMPTS = 30;

/** Place where a CLI runs or will run. When the CLI runs, either `buf` or `pane` is set. */
interface Place {
  readonly cmd?: readonly string[] | undefined;
  readonly cwd: string;
  readonly buf?: number | undefined;
  readonly pane?: string | undefined;
  /** Process of the CLI. Absent in a terminal of `:Gemini`, which ends with the CLI. */
  readonly cliPid?: number | undefined;
}

export interface Destinations {
  /** Updates the list of terminals of `:Gemini`. */
  update(event: EventPayload<"terminals">): void;
  /** Returns the profile of the CLI for which a terminal was opened. */
  profileOf(terminal: string): string | undefined;
  /** Returns the CLI in a terminal; undefined if the CLI is not running. */
  running(terminal: string): Cli | undefined;
  /** Waits until the CLI in a terminal is running. @returns undefined if the CLI has ended or was not found */
  started(terminal: string): Promise<Cli | undefined>;
  /**
   * Finds a CLI outside the terminals of `:Gemini`.
   * @param profile name of the only profile whose CLIs count. Default: all
   */
  outside(profile?: string): Promise<Cli | undefined>;
}

export interface DestinationsOptions {
  bridge: Bridge;
  buffers: Buffers;
  clis: Clis;
  /** Returns the name of a CLI's npm package. @param cli name of the profile */
  packageOf(cli: string): string | undefined;
  /** Whether a review is open in Neovim. */
  isReviewing(): boolean;
  /** Aborted when the bridge stops. */
  signal: AbortSignal;
}

export function createDestinations(options: DestinationsOptions): Destinations {
  const { bridge, buffers, clis, packageOf, isReviewing, signal } = options;
  const served = clis.map((cli) => ({ ...cli, package: packageOf(cli.name) }));
  /** The terminals of `:Gemini` by name, including closed terminals. */
  const terminals = new Map<string, EventPayload<"terminals">["terminals"][number] & { isOpen: boolean }>();
  /** CLIs by buffer or tmux pane. Kept after a prompt, because each `Cli` stores what is known about its screen. */
  const known = new Map<string | number, { cli: Cli; cliPid: number | undefined }>();

  function cliIn({ buf, pane, cmd = [], cwd, cliPid }: Place, name?: string): Cli | undefined {
    const key = buf ?? pane;
    if (key === undefined) return undefined;
    const earlier = known.get(key);
    // The user may have ended the CLI and started another one, perhaps in another directory.
    if (earlier && earlier.cliPid === cliPid) return earlier.cli;
    const like = served.find((each) => runsProgram(cmd, each))?.like;
    const terminal =
      typeof key === "number"
        ? () => buffers.terminal(key, name ?? `the CLI in buffer ${key}`, cwd)
        : () => paneTerminal(key, name ?? `the CLI in pane ${key}`, cwd, signal);
    const own = cliPid === undefined ? terminal() : endingWith(cliPid, terminal());
    const cli = createCli(own, like && drawingOf(like), isReviewing);
    known.set(key, { cli, cliPid });
    return cli;
  }

  /** @param profile name of the only profile whose CLIs count, for a terminal that is not known */
  async function outside(name?: string, profile?: string): Promise<Cli | undefined> {
    const places = await bridge.call("prompt_places", {});
    const own = name === undefined ? undefined : terminals.get(name);
    const others =
      profile === undefined
        ? [{ cmd: places.cmd }, ...served]
        : served.filter((each) => each.name === profile);
    const panes = [...terminals.values()].flatMap(({ pane, isOpen }) => (pane && isOpen ? [pane] : []));
    const place = await findOutside(own ? [own] : others, places, panes);
    return place && cliIn(place, name);
  }

  function running(name: string): Cli | undefined {
    const terminal = terminals.get(name);
    return terminal?.isOpen ? cliIn(terminal, name) : undefined;
  }

  return {
    update(event) {
      for (const terminal of terminals.values()) terminal.isOpen = false;
      for (const terminal of event.terminals) terminals.set(terminal.name, { ...terminal, isOpen: true });
    },
    profileOf: (terminal) => terminals.get(terminal)?.cli,
    running,
    async started(name) {
      for (let attempt = 1; attempt <= FIND_ATTEMPTS; ) {
        const terminal = terminals.get(name);
        const isStarting = terminal?.isOpen && terminal.pid === undefined;
        if (terminal?.pid !== undefined) return running(name);
        // The CLI has no terminal in Neovim, but the user's terminal provider may have opened one outside Neovim.
        const cli = isStarting ? undefined : await outside(name);
        if (cli) return cli;
        if (!isStarting) attempt += 1;
        await sleep(isStarting ? START_INTERVAL_MS : FIND_INTERVAL_MS, undefined, { signal });
      }
      return undefined;
    },
    outside: (profile) => outside(undefined, profile),
  };
}

/** Makes a terminal end with a process. Otherwise, a prompt could be typed into the shell that started the CLI. */
function endingWith(pid: number, terminal: Terminal): Terminal {
  const next = async () => {
    const screen = await terminal.next();
    return isAlive(pid) ? screen : undefined;
  };
  return { ...terminal, next };
}

/**
 * Format of a row about a pane. The row contains no text that a program or a repository chooses: the name of a directory
 * may contain tabs and line breaks, and could forge rows.
 */
const PANE = ["pane_pid", "pane_id", "window_id", "session_id"].map((name) => `#{${name}}`).join(" ");

/**
 * Looks for a CLI in Neovim's terminal buffers, then in the panes of the tmux in which Neovim runs.
 * @param programs the programs of CLIs, the preferred program first
 * @param taken panes of `:Gemini`, which are left out as in `prompt_places`
 * @returns the buffer that runs the most preferred program. If no buffer runs any of these programs, the nearest pane
 * that runs one of them
 */
async function findOutside(
  programs: readonly Parameters<typeof processesOf>[1][],
  { buffers, directories }: CallResult<"prompt_places">,
  taken: readonly string[],
): Promise<Place | undefined> {
  const table = await platform.processes();
  const running = programs.map((program) => new Set(processesOf(table, program).map(({ pid }) => pid)));
  /**
   * Finds the program that runs in a terminal.
   * @param pid the terminal's first process
   * @returns the index of the program, -1 if none of the programs runs there; and the program's process
   */
  const found = (pid: number) => {
    const family = familyOf(table, pid);
    const rank = running.findIndex((pids) => family.some((each) => pids.has(each)));
    return { rank, cliPid: family.find((each) => running[rank]?.has(each)) };
  };
  const [buffer] = buffers
    .map(({ buf, pid }) => ({ buf, pid, ...found(pid) }))
    .filter(({ rank }) => rank >= 0)
    .sort((a, b) => a.rank - b.rank);
  if (buffer) {
    const { buf, pid, rank, cliPid } = buffer;
    const cwd = (await platform.directory(cliPid ?? pid)) ?? directories[0] ?? "/";
    return { buf, cwd, cliPid, cmd: programs[rank]?.cmd };
  }
  const own = process.env["TMUX_PANE"];
  if (!process.env["TMUX"] || !own) return undefined;
  const panes = (await tmux(["list-panes", "-a", "-F", PANE]).catch(() => ""))
    .split("\n")
    .map((line) => line.split(" "))
    .map(([pid, pane = "", window, session]) => ({ pid: Number(pid), pane, window, session }));
  const home = panes.find(({ pane }) => pane === own);
  const nearest = panes
    .map((pane) => ({
      ...pane,
      ...found(pane.pid),
      // Rank of the pane: 0 in the same tmux window as Neovim, 1 in the same session, 2 anywhere else.
      distance: pane.window === home?.window ? 0 : pane.session === home?.session ? 1 : 2,
    }))
    .filter(({ pane, rank }) => pane !== own && !taken.includes(pane) && rank >= 0)
    .sort((a, b) => a.distance - b.distance || a.rank - b.rank);
  for (const { pane, pid, rank, cliPid } of nearest) {
    const cwd = await platform.directory(cliPid ?? pid);
    if (cwd !== undefined && directories.some((directory) => platform.isWithin(directory, cwd)))
      return { pane, cwd, cliPid, cmd: programs[rank]?.cmd };
  }
  return undefined;
}
