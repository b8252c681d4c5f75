/** Lets the cases of a test file share a Neovim, and resets this Neovim after each case. */
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { launchNvim, type Nvim, type NvimOptions, provideNvims, root } from "./nvim.ts";
import { isAlive, killAll } from "./processes.ts";
import { writeFiles } from "./sandbox.ts";
import type { Scope } from "./scope.ts";
import { waitFor } from "./wait.ts";

/** Calls a function of reset.lua. */
const RESET = "local name = ... return package.loaded['test.reset'][name](select(2, ...))";

/** Lua encodes an empty table as an object. */
const listOf = <T extends z.ZodType>(item: T) =>
  z.preprocess((items) => (Array.isArray(items) ? items : []), z.array(item));
const List = listOf(z.string());
const Finished = z.object({ left: List, processes: listOf(z.int()) });

/** A running Neovim that serves one case after the other. */
class SharedNvim {
  #cases = 0;
  #listeners: unknown[] = [];
  /** Files that existed before the first case, such as Neovim's own folder for temporary files. */
  #files: ReadonlySet<string> = new Set();

  constructor(
    readonly nvim: Nvim,
    /** Whether this Neovim has a terminal UI. */
    readonly key: string,
  ) {}

  async remember(): Promise<void> {
    await this.nvim.lua(`package.loaded['test.reset'] = dofile(...)`, join(root, "test/support/reset.lua"));
    await this.#run("remember");
    this.#listeners = this.nvim.nvim.listeners("notification");
    this.#files = new Set(this.#names());
  }

  #run(name: string, ...args: unknown[]): Promise<unknown> {
    return this.nvim.lua(RESET, name, ...args);
  }

  #names(): string[] {
    return readdirSync(this.nvim.dirs.base, { recursive: true, encoding: "utf8" });
  }

  /** Prepares this Neovim for a case, which has a workspace of its own. */
  async begin(
    { files = {}, init = "", args = [], cwd }: NvimOptions,
    release: () => Promise<void>,
  ): Promise<Nvim> {
    const workspace = join(this.nvim.dirs.base, String(++this.#cases), "workspace");
    mkdirSync(workspace, { recursive: true });
    writeFiles(workspace, files);
    const nvim = this.nvim.forCase(workspace, release);
    await nvim.lua("vim.api.nvim_set_current_dir(...)", cwd ?? workspace);
    await nvim.lua(init);
    const names = args.filter((arg) => !Object.hasOwn(ALL, arg));
    if (names.length > 0) await nvim.lua("vim.cmd.args(vim.tbl_map(vim.fn.fnameescape, ...))", names);
    for (const arg of args) if (ALL[arg]) await nvim.command(ALL[arg]);
    return nvim;
  }

  /** @throws Error if the case has left anything that the plugin should have removed */
  async reset(): Promise<void> {
    await this.#leaveMode();
    const { nvim } = this.nvim;
    for (const listener of nvim.listeners("notification"))
      if (!this.#listeners.includes(listener)) nvim.off("notification", listener as () => void);
    const { left, processes } = Finished.parse(await this.#run("finish"));
    await ended(processes);
    left.push(...List.parse(await this.#run("clean")));
    for (const name of this.#names())
      if (!this.#files.has(name)) rmSync(join(this.nvim.dirs.base, name), { recursive: true, force: true });
    left.push(...this.nvim.mismatches);
    if (left.length > 0) throw new Error(`this case has left:\n${left.join("\n")}`);
  }

  /** Returns to Normal mode from any mode or prompt. */
  async #leaveMode(): Promise<void> {
    const { nvim } = this.nvim;
    const isNormal = async () => {
      const { mode, blocking } = await nvim.mode;
      if (blocking) await nvim.input("<C-c>");
      else if (!/^nt?$/.test(mode)) await nvim.input("<C-\\><C-n>");
      else if (await this.nvim.lua("return vim.fn.getcmdwintype() ~= ''")) await nvim.input(":quit<CR>");
      else return true;
      return false;
    };
    await waitFor(isNormal, "Normal mode");
  }
}

/** Waits until processes have ended. Kills those that ignore the end of their terminal. */
async function ended(processes: readonly number[]): Promise<void> {
  if (processes.length === 0) return;
  const haveEnded = () => !processes.some(isAlive);
  await waitFor(haveEnded, "the processes to end", 1000).catch(() => {
    killAll(processes);
    return waitFor(haveEnded, "the killed processes to end");
  });
}

/** Commands that do the same as arguments of Neovim. */
const ALL: Readonly<Record<string, string>> = { "-o": "all", "-O": "vertical all" };

const keyOf = ({ tui }: NvimOptions) => JSON.stringify(tui ?? false);

/** Returns whether the start of Neovim does not matter: everything can be prepared in a running Neovim. */
const isShareable = ({ own, env, below, after, breaksContract, args = [] }: NvimOptions) =>
  !own &&
  !env &&
  !below &&
  !after &&
  !breaksContract &&
  !args.some((arg) => /^[-+]/.test(arg) && !Object.hasOwn(ALL, arg));

/**
 * Lets the cases of this test file share a Neovim. After a case, ends what the case has started, closes its windows and
 * buffers, restores the options, and unloads the plugin. If the reset fails or finds that something is left, the case
 * fails, and the next case starts a new Neovim. A case with options for the start of Neovim has a Neovim of its own.
 * @param file the test of the whole file
 */
export function shareNvim(file: Scope): void {
  const idle: SharedNvim[] = [];
  provideNvims(async (t, options) => {
    if (!isShareable(options)) return undefined;
    const key = keyOf(options);
    const index = idle.findIndex((each) => each.key === key);
    const [shared = await start(file, options, key)] = index < 0 ? [] : idle.splice(index, 1);
    const release = async () => {
      if (!isAlive(shared.nvim.pid)) return shared.nvim.close();
      try {
        await shared.reset();
        idle.push(shared);
      } catch (error) {
        await shared.nvim.close();
        throw error;
      }
    };
    try {
      const nvim = await shared.begin(options, release);
      t.teardown(() => nvim.close());
      return nvim;
    } catch (error) {
      await shared.nvim.close();
      throw error;
    }
  });
}

async function start(file: Scope, { tui = false }: NvimOptions, key: string): Promise<SharedNvim> {
  const shared = new SharedNvim(await launchNvim(file, { tui }), key);
  await shared.remember();
  return shared;
}
