import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
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

/** The plugin's own folder. */
export const root = resolve(import.meta.dirname, "../..");

export interface NvimOptions {
  /** Files to create, by their path relative to the workspace. */
  files?: Readonly<Record<string, string | Uint8Array>>;
  /** Variables beside, or instead of, those of {@link makeEnv}. */
  env?: Readonly<Record<string, string>>;
  /** Arguments of Neovim, such as the files to open. */
  args?: readonly string[];
  /** Lua for the end of init.lua, which by then has the plugin on 'runtimepath'. */
  init?: string;
  /** Starts Neovim with its terminal UI, 120x40 by default; else it is headless with 160 columns and 50 lines. */
  tui?: boolean | Size;
  /** Working directory, the workspace by default. */
  cwd?: string;
  /** Where its folders are made, the temporary directory by default. */
  below?: string;
  /** The test sends messages between Lua and the host that do not match the contract. */
  breaksContract?: boolean;
}

/** How Neovim ended: under a terminal UI with the UI's exit code, never with a signal. */
export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/**
 * The Neovim under test: NVIM_BIN, else the first that scripts/nvim.sh names.
 * @throws Error when there is none
 */
export function nvimBinary(): string {
  const named = process.env["NVIM_BIN"];
  if (named) return named;
  const found = execFileSync(join(root, "scripts/nvim.sh"), { encoding: "utf8" });
  return found.slice(0, found.indexOf("\n"));
}

/**
 * Starts a Neovim with folders and an environment of its own. The end of the test ends it with all processes
 * below it and removes its folders.
 */
export async function startNvim(t: Scope, options: NvimOptions = {}): Promise<Nvim> {
  const dirs = makeDirs(options.below);
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
    // Under a terminal UI requests are answered before the plugins are there.
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

/** A process and all below it; none if it did not start or has ended, for then its pid is not its own. */
function familyOf({ pid, exitCode, signalCode }: ChildProcess): number[] {
  return pid === undefined || exitCode !== null || signalCode !== null ? [] : [pid, ...descendants(pid)];
}

/** A running Neovim of a test's own; see {@link startNvim}. */
export class Nvim {
  #closing: Promise<void> | undefined;
  /** Processes seen below Neovim before it ended. */
  #below: number[] = [];
  readonly #terminal: Terminal | undefined;

  constructor(
    readonly dirs: Dirs,
    /** The process that the test started: Neovim itself or, for a terminal UI, the terminal around it. */
    readonly proc: ChildProcess,
    /** The RPC client. Its requests stay unanswered when Neovim ends; `lua` and the others here reject. */
    readonly nvim: NeovimClient,
    /** The pid of the Neovim that answers, which under a terminal UI is a child of the UI's process. */
    readonly pid: number,
    /** Resolves when Neovim has ended. */
    readonly exited: Promise<Exit>,
    terminal: Terminal | undefined,
    /** Messages between Lua and the host that do not match the contract. */
    readonly mismatches: readonly string[],
  ) {
    this.#terminal = terminal;
  }

  /** The absolute path of a file in the workspace. */
  path(...relative: string[]): string {
    return join(this.dirs.workspace, ...relative);
  }

  /** Runs Lua in Neovim, `...` being the arguments, and returns what it returns. */
  lua(code: string, ...args: unknown[]): Promise<unknown> {
    return this.#orExit(this.nvim.request("nvim_exec_lua", [code, args]));
  }

  /** Runs an Ex command; an error in it rejects. */
  async command(command: string): Promise<void> {
    await this.#orExit(this.nvim.request("nvim_command", [command]));
  }

  /**
   * Types keys, in the notation of `nvim_input`, and waits until Neovim has acted on them: typed keys go
   * before requests, so an answer means that none is left. While a prompt blocks there is no answer, only a
   * mode that stays. Keys that wait for more (a mapping's first half) count as acted on.
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
    answer.catch(() => {}); // while blocked, the answer comes when the prompt goes, or never
  }

  /** The text of `:messages`. */
  async messages(): Promise<string> {
    return String(await this.lua("return vim.fn.execute('messages')"));
  }

  /**
   * Polls a Lua expression, or a function of the test's, until it is truthy, and returns that.
   * @param timeout milliseconds
   */
  waitFor(condition: string | (() => unknown), what: string, timeout = 5000): Promise<unknown> {
    const check = typeof condition === "string" ? () => this.lua(`return ${condition}`) : condition;
    return waitFor(check, what, timeout);
  }

  /** The lines of the terminal UI's screen. */
  screen(): Promise<string[]> {
    return this.#ui().screen();
  }

  /** Types into the terminal UI: raw bytes, `\r` for Enter, `\x1b` for Escape. Waits for no effect. */
  type(keys: string): Promise<void> {
    return this.#ui().type(keys);
  }

  #ui(): Terminal {
    if (!this.#terminal) throw new Error("this Neovim has no terminal UI: start it with { tui: true }");
    return this.#terminal;
  }

  /** Sends a signal to Neovim itself, whatever is around it. */
  kill(signal: NodeJS.Signals = "SIGKILL"): void {
    this.#below = descendants(this.pid);
    process.kill(this.pid, signal);
  }

  /** Ends Neovim, as a user would if that works, and everything it started; removes its folders. */
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

  /** A request that Neovim's end leaves without an answer rejects instead. */
  #orExit<T>(request: Promise<T>): Promise<T> {
    const gone = this.exited.then(({ code, signal }): never => {
      throw new Error(`Neovim has ended (${signal ?? code})`);
    });
    return Promise.race([request, gone]);
  }
}
