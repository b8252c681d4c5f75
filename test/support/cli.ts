/** Runs the real Gemini CLI in a terminal of Neovim. */
import { delimiter, dirname, join } from "node:path";
import { z } from "zod";
import type { Model } from "./model.ts";
import { type Nvim, root } from "./nvim.ts";
import { descendants, killAll } from "./processes.ts";
import { writeFiles } from "./sandbox.ts";
import type { Scope } from "./scope.ts";
import { waitFor } from "./wait.ts";

export interface CliOptions {
  /** Scripted model that replaces the Gemini API. */
  model: Model;
  /** Working directory. Default: Neovim's workspace. */
  cwd?: string;
  /** Variables in addition to those of Neovim. */
  env?: Readonly<Record<string, string>>;
  /** Additional arguments. */
  args?: string;
  /** Additional user settings. */
  settings?: Readonly<Record<string, object>>;
  /** Text on the screen when the CLI is ready. Default: the CLI's prompt. */
  shows?: RegExp;
}

/** Settings that prevent questions and network requests at the start. IDE mode is on, as after `/ide enable`. */
export const SETTINGS = {
  security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
  ide: { enabled: true, hasSeenNudge: true },
  general: { enableAutoUpdate: false },
  privacy: { usageStatisticsEnabled: false },
};

/** Lua that opens a window at the right with a shell in a terminal buffer. Does not move the focus. */
const OPEN = `
local cwd, env = ...
local buf = vim.api.nvim_create_buf(true, false)
local win = vim.api.nvim_open_win(buf, false, { split = 'right', win = -1, width = 80 })
local job = vim.api.nvim_win_call(win, function()
  if vim.fn.has('nvim-0.11') == 1 then
    return vim.fn.jobstart({ 'sh' }, { term = true, cwd = cwd, env = env })
  end
  return vim.fn.termopen({ 'sh' }, { cwd = cwd, env = env })
end)
return { win = win, buf = buf, job = job, shell = vim.fn.jobpid(job), height = vim.api.nvim_win_get_height(win) }
`;

const Place = z.object({ win: z.int(), buf: z.int(), job: z.int(), shell: z.int(), height: z.int() });

/** Timeout for texts that appear immediately on an idle machine. */
const SCREEN_TIMEOUT_MS = 20_000;

/** The line above the CLI's prompt. */
const RULE = /^─+$/;

/**
 * Runs the real Gemini CLI in a terminal of Neovim, and waits for the CLI's prompt. Types the command into a shell, as
 * a user would, because the CLI searches for the editor among the ancestors of its shell. A Neovim without the plugin
 * can be used as a plain terminal.
 */
export async function startCliInNvim(t: Scope, nvim: Nvim, options: CliOptions): Promise<Cli> {
  const settings = { ...SETTINGS, ...options.settings };
  writeFiles(nvim.dirs.home, { ".gemini/settings.json": JSON.stringify(settings) });
  const env = {
    PS1: "$ ",
    PATH: [join(root, "node_modules/.bin"), dirname(process.execPath), process.env["PATH"]].join(delimiter),
    GEMINI_API_KEY: "any",
    GOOGLE_GEMINI_BASE_URL: options.model.url,
    GEMINI_CLI_NO_RELAUNCH: "true", // starts one Node process fewer
    SSH_CONNECTION: "127.0.0.1 1 127.0.0.1 2", // otherwise the CLI connects to host.docker.internal in a container
    ...options.env,
  };
  const place = await nvim.lua(OPEN, options.cwd ?? nvim.dirs.workspace, env);
  const cli = new Cli(nvim, Place.parse(place));
  t.teardown(() => killAll([...descendants(cli.place.shell), cli.place.shell]));
  await cli.waitForScreen(/^\$/m);
  await cli.press(`gemini ${options.args ?? ""}\r`);
  await cli.waitForScreen(options.shows ?? /Type your message/, 20_000);
  return cli;
}

/** The prompt on the screen: text without blanks, because lines may wrap, and height in lines. */
interface Prompt {
  text: string;
  height: number;
}

/** Text of an empty prompt. */
const EMPTY = ">Typeyourmessage";

/**
 * Sends the text with the End key, then Enter. Within 30 ms after a character, the CLI would treat Enter as a line
 * break of a paste.
 */
const ENTER = "\x1b[F\r";

/** Removes the frame from a screen. The CLI draws the frame if it knows the background colour of the terminal. */
function bare(text: string): string {
  return text.replace(/[\s▀▄]/g, "");
}

/** A running Gemini CLI, see {@link startCliInNvim}. */
export class Cli {
  constructor(
    readonly nvim: Nvim,
    /** Handles of window and buffer, channel of the terminal, process id of the shell, and height in lines. */
    readonly place: z.infer<typeof Place>,
  ) {}

  /** Returns the visible lines of the CLI's terminal. */
  screen(): Promise<string[]> {
    return this.#lines(-1 - this.place.height);
  }

  /**
   * Waits until the screen shows `pattern`.
   * @param timeout milliseconds
   * @throws Error with the last screen
   */
  async waitForScreen(pattern: RegExp, timeout = SCREEN_TIMEOUT_MS): Promise<void> {
    await this.#waitFor(async () => pattern.test((await this.screen()).join("\n")), `${pattern}`, timeout);
  }

  /** Sends keys like a keyboard: raw bytes, `\r` for Enter, `\x1b` for Escape. Does not wait for the result. */
  async press(keys: string): Promise<void> {
    await this.nvim.lua("vim.fn.chansend(...)", this.place.job, keys);
  }

  /** Types a text into the empty prompt, and sends the text. A `?` at the start would open the help. */
  async type(text: string): Promise<void> {
    await this.#fill(text, `>${bare(text)}`);
    // The CLI shows the text before Enter can send the whole text. A line break at the end, which the CLI removes,
    // shows that Enter works.
    const { height } = await this.#prompt();
    const isBroken = async () => (await this.#prompt()).height > height;
    // The CLI drops keys while it draws, so this loop repeats the key.
    for (let attempt = 1; attempt < 5 && !(await isBroken()); attempt += 1) {
      await this.press("\n");
      await waitFor(isBroken, "a line break", SCREEN_TIMEOUT_MS / 5).catch(() => {});
    }
    await this.#waitFor(isBroken, "a line break after the text", SCREEN_TIMEOUT_MS / 5);
    await this.press(ENTER);
  }

  /**
   * Runs a slash command.
   * @returns the output below the echo of the command
   */
  async slash(command: string): Promise<string> {
    const isEcho = (line: string) => line.trim() === `> ${command}`;
    const before = (await this.#parts()).above.filter(isEcho).length;
    let output = "";
    // The menu opens with a delay. Enter would then choose the first entry of the menu.
    await this.#fill(command, `>${bare(command)}${command.split(/[ /]/).at(-1)}`);
    await this.press(ENTER);
    await this.#waitFor(
      async () => {
        const { above } = await this.#parts();
        if (above.filter(isEcho).length > before)
          output = above.slice(above.findLastIndex(isEcho) + 1).join("\n");
        return bare(output) !== "";
      },
      `output of ${command}`,
      5000,
    );
    return output;
  }

  /** Types a text into the empty prompt. Waits until the prompt shows `typed`. */
  async #fill(text: string, typed: string): Promise<void> {
    await this.#waitForPrompt((prompt) => prompt.text.includes(EMPTY), "an empty prompt");
    await this.press(text);
    await this.#waitForPrompt((prompt) => prompt.text.includes(typed), `"${typed}" in the prompt`);
  }

  async #waitForPrompt(shows: (prompt: Prompt) => boolean, what: string): Promise<void> {
    await this.#waitFor(async () => shows(await this.#prompt()), what, SCREEN_TIMEOUT_MS);
  }

  async #prompt(): Promise<Prompt> {
    const { prompt } = await this.#parts();
    // In YOLO mode, the prompt starts with an asterisk.
    const lines = prompt.map((line) => line.replace(/^ \* /, " > "));
    return { text: bare(lines.join("")), height: prompt.findLastIndex((line) => /\S/.test(line)) + 1 };
  }

  /** Returns the output above the prompt, and the screen below the start of the prompt. */
  async #parts(): Promise<{ above: string[]; prompt: string[] }> {
    const lines = await this.#lines(0);
    const rule = lines.findLastIndex((line) => RULE.test(line));
    return rule < 0
      ? { above: lines, prompt: [] }
      : { above: lines.slice(0, rule), prompt: lines.slice(rule + 1) };
  }

  async #lines(from: number): Promise<string[]> {
    const lines = await this.nvim.lua(
      "return vim.api.nvim_buf_get_lines(...)",
      this.place.buf,
      from,
      -1,
      false,
    );
    return z.array(z.string()).parse(lines);
  }

  async #waitFor(condition: () => Promise<boolean>, what: string, timeout: number): Promise<void> {
    try {
      await waitFor(condition, what, timeout);
    } catch (error) {
      const screen = (await this.screen()).join("\n");
      throw new Error(`${what} did not appear on the screen:\n${screen}`, { cause: error });
    }
  }
}
