/** Starts real Neovims, each with its own folders and environment. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { NeovimClient } from "neovim";
import { checkContract, REPORT_MESSAGES } from "./contract.ts";
import { descendants, isAlive, killAll } from "./processes.ts";
import { connectRpc } from "./rpc.ts";
import { type Dirs, makeDirs, makeEnv, removeDirs, withEnv, writeFiles } from "./sandbox.ts";
import type { Scope } from "./scope.ts";
import { openTerminal, type Size, type Terminal } from "./terminal.ts";
import { WAIT_MS, waitFor } from "./wait.ts";

/** The plugin's folder. */
export const root = resolve(import.meta.dirname, "../..");

export interface NvimOptions {
  /** Files to create, by path relative to the workspace. */
  files?: Readonly<Record<string, string | Uint8Array>>;
  /** Variables that are added to, or replace, the variables of {@link makeEnv}. */
  env?: Readonly<Record<string, string>>;
  /** Arguments for Neovim, such as names of files. */
  args?: readonly string[];
  /** Lua for the end of init.lua. The plugin is already in 'runtimepath'. */
  init?: string;
  /**
   * Whether to start Neovim's terminal UI (default size: 120x40). Otherwise Neovim is headless, with 160 columns and 50
   * lines.
   */
  tui?: boolean | Size;
  /** Working directory. Default: the workspace. */
  cwd?: string;
  /** Parent directory of the folders. Default: the temporary directory. */
  below?: string;
  /** An ended Neovim whose folders are used again. */
  after?: Nvim;
  /** Set if the test sends invalid messages on purpose. */
  breaksContract?: boolean;
  /** Whether this case starts a Neovim of its own, although the cases of its file share a Neovim. */
  own?: boolean;
}

/** The exit of Neovim. With a terminal UI: the exit code of the UI, and no signal. */
export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/**
 * Returns the path of the Neovim to test: NVIM_BIN, or else the first line of scripts/nvim.sh.
 * @throws Error if no Neovim is found
 */
export function nvimBinary(): string {
  const named = process.env["NVIM_BIN"];
  if (named) return named;
  const found = execFileSync(join(root, "scripts/nvim.sh"), { encoding: "utf8" });
  return found.slice(0, found.indexOf("\n"));
}

/** Returns a running Neovim, or undefined if the case needs a Neovim of its own. */
type Provide = (t: Scope, options: NvimOptions) => Promise<Nvim | undefined>;
let provide: Provide | undefined;

/** Makes {@link startNvim} use running Neovims: see reset.ts. */
export function provideNvims(by: Provide): void {
  provide = by;
}

/** Starts a Neovim. If the cases of the file share a Neovim, prepares this Neovim instead: see reset.ts. */
export async function startNvim(t: Scope, options: NvimOptions = {}): Promise<Nvim> {
  return (await provide?.(t, options)) ?? launchNvim(t, options);
}

/**
 * Starts a Neovim with its own folders and environment. At the end of the test, ends this Neovim with all its
 * descendants, and removes the folders.
 */
export async function launchNvim(t: Scope, options: NvimOptions = {}): Promise<Nvim> {
  const dirs = options.after?.dirs ?? makeDirs(options.below);
  const size = typeof options.tui === "object" ? options.tui : { columns: 120, lines: 40 };
  const isChecked = process.env["CHECK_CONTRACT"] !== undefined && !options.breaksContract;
  // With --embed, Neovim shows messages also without a UI: nobody would answer its prompt for more.
  const headless = options.tui ? "" : "vim.o.columns, vim.o.lines, vim.o.more = 160, 50, false\n";
  const init = `${headless}vim.opt.runtimepath:prepend(${JSON.stringify(root)})\n${isChecked ? REPORT_MESSAGES : ""}${options.init ?? ""}\n`;
  writeFiles(dirs.config, { "nvim/init.lua": init });
  writeFiles(dirs.workspace, options.files ?? {});

  const binary = nvimBinary();
  const command = (...args: string[]) => withEnv({ ...makeEnv(dirs), ...options.env }, [binary, ...args]);
  const cwd = options.cwd ?? dirs.workspace;
  const socket = join(dirs.base, "nvim");
  rmSync(socket, { force: true }); // a killed Neovim does not delete its socket
  const args = ["--listen", socket, ...(options.args ?? [])];
  const outer = join(dirs.base, "terminal");
  const [file = "", ...words] = options.tui
    ? command("--clean", "--headless", "--listen", outer)
    : command("--headless", ...args);
  const proc = spawn(file, words, { cwd, stdio: ["ignore", "ignore", "pipe"] });
  let output = "";
  proc.stderr.setEncoding("utf8").on("data", (text) => {
    output = (output + text).slice(-4000);
  });
  let terminal: Terminal | undefined;
  try {
    await once(proc, "spawn");
    const procExit = once(proc, "exit").then(([code, signal]): Exit => ({ code, signal }));
    if (options.tui) {
      terminal = await openTerminal(await connectRpc(outer, procExit), command(...args), cwd, size);
    }
    const exited = terminal
      ? Promise.race([procExit, terminal.exited.then((code): Exit => ({ code, signal: null }))])
      : procExit;
    const client = await connectRpc(socket, exited);
    const pid = Number(await waitFor(() => client.call("getpid"), "Neovim to start"));
    // With a terminal UI, Neovim answers requests before it has loaded the plugins.
    await waitFor(() => client.eval("v:vim_did_enter"), "Neovim to have started");
    const mismatches = isChecked ? await checkContract(client) : [];
    const nvim = new Nvim(dirs, proc, client, pid, exited, terminal, mismatches);
    t.teardown(() => nvim.close());
    return nvim;
  } catch (error) {
    const screen = terminal && proc.exitCode === null ? (await terminal.screen()).join("\n").trim() : "";
    killAll(familyOf(proc));
    removeDirs(dirs);
    throw new Error(`${binary} did not start: ${output}${screen}`, { cause: error });
  }
}

/**
 * Returns the ids of a process and its descendants. Returns an empty list if the process does not run, because the
 * system may have reused its id.
 */
function familyOf({ pid, exitCode, signalCode }: ChildProcess): number[] {
  return pid === undefined || exitCode !== null || signalCode !== null ? [] : [pid, ...descendants(pid)];
}

/** A running Neovim for one test, see {@link startNvim}. */
export class Nvim {
  #closing: Promise<void> | undefined;
  #release: (() => Promise<void>) | undefined;
  /** Descendants of Neovim. Recorded before Neovim ends. */
  #below: number[] = [];
  readonly #terminal: Terminal | undefined;

  constructor(
    readonly dirs: Dirs,
    /** The process that the test has started: Neovim, or the terminal around Neovim's UI. */
    readonly proc: ChildProcess,
    /**
     * RPC client. After Neovim has ended, requests of this client are never answered. The methods of this class reject
     * then.
     */
    readonly nvim: NeovimClient,
    /** Process id of the Neovim that answers requests. With a terminal UI, this is a child of the UI's process. */
    readonly pid: number,
    /** Resolves when Neovim has ended. */
    readonly exited: Promise<Exit>,
    terminal: Terminal | undefined,
    /** Messages between Lua and the host that do not match the contract. */
    readonly mismatches: readonly string[],
  ) {
    this.#terminal = terminal;
  }

  /**
   * Returns the same Neovim with another workspace, for one case.
   * @param release replaces {@link close}
   */
  forCase(workspace: string, release: () => Promise<void>): Nvim {
    const dirs = { ...this.dirs, workspace };
    const nvim = new Nvim(dirs, this.proc, this.nvim, this.pid, this.exited, this.#terminal, this.mismatches);
    nvim.#release = release;
    return nvim;
  }

  /** Returns the absolute path of a file in the workspace. */
  path(...relative: string[]): string {
    return join(this.dirs.workspace, ...relative);
  }

  /**
   * Runs Lua in Neovim. The Lua code reads `args` as `...`.
   * @returns the result of the Lua code
   */
  lua(code: string, ...args: unknown[]): Promise<unknown> {
    return this.#orExit(this.nvim.request("nvim_exec_lua", [code, args]));
  }

  /** Runs an Ex command. Rejects if the command fails. */
  async command(command: string): Promise<void> {
    await this.#orExit(this.nvim.request("nvim_command", [command]));
  }

  /**
   * Types keys in the notation of `nvim_input`, and waits until Neovim has processed the keys. Neovim processes typed
   * keys before requests, so an answer means that no key is left. If a prompt blocks Neovim, no answer comes. Then the
   * wait ends when the mode stays the same. Incomplete mappings count as processed.
   */
  async input(keys: string): Promise<void> {
    const bytes = Buffer.from(keys);
    for (let sent = 0; sent < bytes.length; ) {
      const rest = bytes.subarray(sent).toString();
      sent += Number(await this.#orExit(this.nvim.request("nvim_input", [rest])));
    }
    let answered = false;
    const answer = this.lua("return true").then(() => {
      answered = true;
    });
    for (let blocked = 0; !answered && blocked < 10; ) {
      await Promise.race([answer, delay(10)]);
      const mode = await this.#orExit(this.nvim.mode);
      blocked = mode.blocking ? blocked + 1 : 0;
    }
    answer.catch(() => {}); // the answer comes when the prompt closes, or never
  }

  /** Returns the text of `:messages`. */
  async messages(): Promise<string> {
    return String(await this.lua("return vim.fn.execute('messages')"));
  }

  /**
   * Waits until `:messages` contains a text or matches a pattern. Shows all messages on failure.
   * @returns the text of `:messages`
   * @param timeout milliseconds
   */
  async says(wanted: string | RegExp, timeout = WAIT_MS): Promise<string> {
    let text = "";
    const isSaid = async () => {
      text = await this.messages();
      return typeof wanted === "string" ? text.includes(wanted) : wanted.test(text);
    };
    await waitFor(isSaid, `${wanted}`, timeout).catch((error: unknown) => {
      throw new Error(`${wanted} in:\n${text}`, { cause: error });
    });
    return text;
  }

  /**
   * Polls a Lua expression or a function until the value is truthy.
   * @returns the value
   * @param timeout milliseconds
   */
  waitFor(condition: string | (() => unknown), what: string, timeout = WAIT_MS): Promise<unknown> {
    const check = typeof condition === "string" ? () => this.lua(`return ${condition}`) : condition;
    return waitFor(check, what, timeout);
  }

  /**
   * Waits until the bridge has the given state.
   * @param timeout milliseconds
   */
  async bridgeIs(state: "running" | "stopped", timeout = WAIT_MS): Promise<void> {
    await this.waitFor(`require('gemini-bridge').status().state == '${state}'`, `state ${state}`, timeout);
  }

  /** Starts the bridge, and waits until it runs. */
  async startBridge(timeout?: number): Promise<void> {
    await this.command("GeminiStart");
    await this.bridgeIs("running", timeout);
  }

  /** Stops the bridge, and waits until it is stopped. */
  async stopBridge(timeout?: number): Promise<void> {
    await this.command("GeminiStop");
    await this.bridgeIs("stopped", timeout);
  }

  /** Returns the visible lines of the terminal UI. */
  screen(): Promise<string[]> {
    return this.#ui().screen();
  }

  /** Types into the terminal UI: raw bytes, `\r` for Enter, `\x1b` for Escape. Does not wait for the result. */
  type(keys: string): Promise<void> {
    return this.#ui().type(keys);
  }

  #ui(): Terminal {
    if (!this.#terminal) throw new Error("this Neovim has no terminal UI: start it with { tui: true }");
    return this.#terminal;
  }

  /** Sends a signal to Neovim itself, not to the terminal around its UI. */
  kill(signal: NodeJS.Signals = "SIGKILL"): void {
    this.#below = descendants(this.pid);
    process.kill(this.pid, signal);
  }

  /**
   * Ends Neovim and all its descendants, and removes the folders. Quits Neovim as a user does, if possible. A Neovim
   * that cases share is only reset: see reset.ts.
   */
  close(): Promise<void> {
    this.#closing ??= this.#release?.() ?? this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const started = familyOf(this.proc);
    if (isAlive(this.pid)) this.nvim.notify("nvim_command", ["qa!"]);
    await Promise.race([this.exited, delay(1000, undefined, { ref: false })]); // a blocked Neovim does not answer
    this.proc.kill("SIGKILL");
    const left = [...started, ...this.#below];
    const ended = (timeout: number) =>
      waitFor(() => !left.some(isAlive), "what Neovim started to end", timeout);
    await ended(1000).catch(() => {
      killAll(left);
      return ended(WAIT_MS); // on a busy machine, a killed process may need some milliseconds to end
    });
    removeDirs(this.dirs);
    if (this.mismatches.length > 0)
      throw new Error(`messages do not match src/contract:\n${this.mismatches.slice(0, 5).join("\n")}`);
  }

  /** Rejects a pending request when Neovim ends. */
  #orExit<T>(request: Promise<T>): Promise<T> {
    const gone = this.exited.then(({ code, signal }): never => {
      throw new Error(`Neovim has ended (${signal ?? code})`);
    });
    return Promise.race([request, gone]);
  }
}
