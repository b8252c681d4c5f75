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
import { waitFor } from "./wait.ts";

/** The plugin's folder. */
export const root = resolve(import.meta.dirname, "../..");

export interface NvimOptions {
  /** Files to create, by path relative to the workspace. */
  files?: Readonly<Record<string, string | Uint8Array>>;
  /** Variables in addition to, or instead of, those of {@link makeEnv}. */
  env?: Readonly<Record<string, string>>;
  /** Arguments for Neovim, such as files to open. */
  args?: readonly string[];
  /** Lua for the end of init.lua. The plugin is in 'runtimepath'. */
  init?: string;
  /**
   * Starts Neovim with its terminal UI (default size 120x40). Otherwise Neovim is headless, with 160 columns
   * and 50 lines.
   */
  tui?: boolean | Size;
  /** Working directory. Default: the workspace. */
  cwd?: string;
  /** Parent of its folders. Default: the temporary directory. */
  below?: string;
  /** An ended Neovim whose folders this one uses. */
  after?: Nvim;
  /** The test sends invalid messages on purpose. */
  breaksContract?: boolean;
}

/** Exit of Neovim. With a terminal UI, the exit code of the UI and no signal. */
export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/**
 * Returns the Neovim to test: NVIM_BIN, else the first of scripts/nvim.sh.
 * @throws Error if there is none
 */
export function nvimBinary(): string {
  const named = process.env["NVIM_BIN"];
  if (named) return named;
  const found = execFileSync(join(root, "scripts/nvim.sh"), { encoding: "utf8" });
  return found.slice(0, found.indexOf("\n"));
}

/**
 * Starts a Neovim with its own folders and environment. At the end of the test, ends Neovim with all its
 * descendants, and removes the folders.
 */
export async function startNvim(t: Scope, options: NvimOptions = {}): Promise<Nvim> {
  const dirs = options.after?.dirs ?? makeDirs(options.below);
  const size = typeof options.tui === "object" ? options.tui : { columns: 120, lines: 40 };
  const isChecked = process.env["CHECK_CONTRACT"] !== undefined && !options.breaksContract;
  const headlessSize = options.tui ? "" : "vim.o.columns, vim.o.lines = 160, 50\n";
  const init = `${headlessSize}vim.opt.runtimepath:prepend(${JSON.stringify(root)})\n${isChecked ? REPORT_MESSAGES : ""}${options.init ?? ""}\n`;
  writeFiles(dirs.config, { "nvim/init.lua": init });
  writeFiles(dirs.workspace, options.files ?? {});

  const binary = nvimBinary();
  const command = (...args: string[]) => withEnv({ ...makeEnv(dirs), ...options.env }, [binary, ...args]);
  const cwd = options.cwd ?? dirs.workspace;
  const socket = join(dirs.base, "nvim");
  rmSync(socket, { force: true }); // left by a Neovim that was killed
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
    const pid = Number(await waitFor(() => client.call("getpid"), "Neovim to start", 10_000));
    // With a terminal UI, Neovim answers requests before the plugins are loaded.
    await waitFor(() => client.eval("v:vim_did_enter"), "Neovim to have started", 10_000);
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
 * Returns a process and its descendants. Empty if it did not start or has ended, because its id may be
 * reused.
 */
function familyOf({ pid, exitCode, signalCode }: ChildProcess): number[] {
  return pid === undefined || exitCode !== null || signalCode !== null ? [] : [pid, ...descendants(pid)];
}

/** A running Neovim for one test; see {@link startNvim}. */
export class Nvim {
  #closing: Promise<void> | undefined;
  /** Descendants of Neovim, recorded before it ended. */
  #below: number[] = [];
  readonly #terminal: Terminal | undefined;

  constructor(
    readonly dirs: Dirs,
    /** The process started by the test: Neovim, or the terminal around its UI. */
    readonly proc: ChildProcess,
    /**
     * RPC client. Its requests are never answered after Neovim has ended; the methods of this class reject
     * instead.
     */
    readonly nvim: NeovimClient,
    /** Process id of the answering Neovim. With a terminal UI, a child of the UI's process. */
    readonly pid: number,
    /** Resolves when Neovim has ended. */
    readonly exited: Promise<Exit>,
    terminal: Terminal | undefined,
    /** Messages between Lua and the host that violate the contract. */
    readonly mismatches: readonly string[],
  ) {
    this.#terminal = terminal;
  }

  /** Returns the absolute path of a file in the workspace. */
  path(...relative: string[]): string {
    return join(this.dirs.workspace, ...relative);
  }

  /** Runs Lua in Neovim with `...` as arguments. @returns its result */
  lua(code: string, ...args: unknown[]): Promise<unknown> {
    return this.#orExit(this.nvim.request("nvim_exec_lua", [code, args]));
  }

  /** Runs an Ex command. Rejects on an error. */
  async command(command: string): Promise<void> {
    await this.#orExit(this.nvim.request("nvim_command", [command]));
  }

  /**
   * Types keys in the notation of `nvim_input`, and waits until Neovim has processed them: Neovim processes
   * typed keys before requests, so that an answer means that no key is left. While a prompt blocks Neovim,
   * there is no answer, but the mode stays the same. Incomplete mappings count as processed.
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
    answer.catch(() => {}); // answered when the prompt closes, or never
  }

  /** Returns the text of `:messages`. */
  async messages(): Promise<string> {
    return String(await this.lua("return vim.fn.execute('messages')"));
  }

  /**
   * Polls a Lua expression or a function until it is truthy. @returns its value
   * @param timeout milliseconds
   */
  waitFor(condition: string | (() => unknown), what: string, timeout = 5000): Promise<unknown> {
    const check = typeof condition === "string" ? () => this.lua(`return ${condition}`) : condition;
    return waitFor(check, what, timeout);
  }

  /** Returns the lines of the terminal UI's screen. */
  screen(): Promise<string[]> {
    return this.#ui().screen();
  }

  /**
   * Types into the terminal UI: raw bytes, `\r` for Enter, `\x1b` for Escape. Does not wait for an effect.
   */
  type(keys: string): Promise<void> {
    return this.#ui().type(keys);
  }

  #ui(): Terminal {
    if (!this.#terminal) throw new Error("this Neovim has no terminal UI: start it with { tui: true }");
    return this.#terminal;
  }

  /** Sends a signal to Neovim itself. */
  kill(signal: NodeJS.Signals = "SIGKILL"): void {
    this.#below = descendants(this.pid);
    process.kill(this.pid, signal);
  }

  /** Quits Neovim like a user if possible, ends all its descendants, and removes its folders. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const started = familyOf(this.proc);
    if (isAlive(this.pid)) this.nvim.notify("nvim_command", ["qa!"]);
    await Promise.race([this.exited, delay(1000, undefined, { ref: false })]); // a blocked or broken Neovim does not answer
    this.proc.kill("SIGKILL");
    const left = [...started, ...this.#below];
    const ended = (timeout: number) =>
      waitFor(() => !left.some(isAlive), "what Neovim started to end", timeout);
    await ended(1000).catch(() => {
      killAll(left);
      return ended(10_000); // on a busy machine a process outlives its SIGKILL for some milliseconds
    });
    removeDirs(this.dirs);
    if (this.mismatches.length > 0)
      throw new Error(`messages do not match src/contract:\n${this.mismatches.slice(0, 5).join("\n")}`);
  }

  /** Makes a request reject if Neovim ends before it answers. */
  #orExit<T>(request: Promise<T>): Promise<T> {
    const gone = this.exited.then(({ code, signal }): never => {
      throw new Error(`Neovim has ended (${signal ?? code})`);
    });
    return Promise.race([request, gone]);
  }
}
