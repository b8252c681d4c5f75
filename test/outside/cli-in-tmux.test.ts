/**
 * Tests the real CLI in two tmux panes. Neovim has opened only one of these panes. In the other pane, the extension's
 * hooks must find Neovim.
 */
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { RunningBridge } from "../support/bridge.ts";
import { linkExtension } from "../support/extension.ts";
import { geminiEnv, startWithGemini } from "../support/gemini.ts";
import { listenOn } from "../support/listen.ts";
import type { Model } from "../support/model.ts";
import { type Nvim, startNvim } from "../support/nvim.ts";
import { enterTmux, startTmux, type Tmux } from "../support/tmux.ts";
import { waitFor } from "../support/wait.ts";

/** The CLI in a tmux server that has only this pane. */
class PaneCli {
  constructor(
    readonly tmux: Tmux,
    readonly nvim: Nvim,
    readonly model: Model,
  ) {}

  shows(pattern: RegExp): Promise<void> {
    return shows(this.tmux, pattern);
  }

  /**
   * Types into the empty prompt, and sends the text. A line break at the end, which the CLI removes, shows that the CLI
   * takes no more keys for a part of the text: then it takes Enter, too. Enter must not be repeated, because the CLI
   * would send the text again.
   */
  async type(text: string): Promise<void> {
    await this.shows(/Type your message/);
    this.tmux("send-keys", "-l", text);
    await this.shows(new RegExp(`[>*] +${text}`));
    const height = promptHeight(this.tmux);
    const isBroken = () => {
      const isHigher = promptHeight(this.tmux) > height;
      if (!isHigher) this.tmux("send-keys", "C-j");
      return isHigher;
    };
    await waitFor(isBroken, "a line break after the text");
    this.tmux("send-keys", "End", "Enter");
  }

  /** Makes the model write a file and then answer with the given texts. */
  async write(name: string, content: string, ...says: string[]): Promise<void> {
    const args = { file_path: this.nvim.path(name), content: `${content}\n` };
    this.model.say([{ functionCall: { name: "write_file", args } }], ...says.map((text) => [{ text }]));
    await this.type(`Write ${content}`);
  }

  enable(): Promise<void> {
    return enable(this.tmux);
  }
}

/** Waits until a pane shows a text. Fails with the pane's screen. */
async function shows(tmux: Tmux, pattern: RegExp, ...pane: string[]): Promise<void> {
  const screen = () => tmux("capture-pane", "-p", ...pane);
  await waitFor(() => pattern.test(screen()), `${pattern}`, 40_000).catch((cause: unknown) => {
    throw new Error(`${pattern} did not appear:\n${screen()}`, { cause });
  });
}

/** Returns the number of lines below the line above the CLI's prompt. */
function promptHeight(tmux: Tmux): number {
  const below = tmux("capture-pane", "-p").split("────").at(-1) ?? "";
  return below.trimEnd().split("\n").length;
}

/** Types `/ide enable` into the empty prompt of a CLI. Enter would choose the first command until the list is complete. */
async function enable(tmux: Tmux, ...pane: string[]): Promise<void> {
  await shows(tmux, /Type your message/, ...pane);
  tmux("send-keys", ...pane, "-l", "/ide enable");
  await shows(tmux, /[>*] +\/ide enable[\s\S]*enable/, ...pane);
  tmux("send-keys", ...pane, "End", "Enter");
}

/** @param hasVariables whether the CLI has the environment variables of a terminal of Neovim */
async function start(t: Test, hasVariables: boolean) {
  const { nvim, model } = await startWithGemini(t, { files: { "a.txt": "one\n", "b.txt": "one\n" } });
  linkExtension(nvim.dirs.home);
  const bridge = new RunningBridge(t, nvim);
  await nvim.startBridge();
  const tmux = await startTmux(t, nvim, nvim.dirs.workspace);
  await nvim.lua("vim.env.TMUX, vim.env.TMUX_PANE = nil, nil");
  const cli = new PaneCli(tmux, nvim, model);
  const { port, content } = bridge.file();
  const variables = {
    GEMINI_CLI_IDE_SERVER_PORT: String(port),
    GEMINI_CLI_IDE_AUTH_TOKEN: content.authToken,
    GEMINI_CLI_IDE_WORKSPACE_PATH: nvim.dirs.workspace,
  };
  const env = {
    ...geminiEnv(model),
    ...(hasVariables && variables),
    no_proxy: "127.0.0.1",
    TMPDIR: nvim.dirs.tmp,
    SSH_CONNECTION: "127.0.0.1 1 127.0.0.1 2", // otherwise the CLI connects to host.docker.internal in a container
  };
  const words = Object.entries(env).map(([name, value]) => `${name}='${value}'`);
  tmux("send-keys", "-l", `exec env ${words.join(" ")} gemini --yolo`);
  tmux("send-keys", "Enter");
  await cli.shows(/YOLO/);
  await nvim.waitFor("(require('gemini-bridge').status().clients[1] or {}).hooks", "a hook", 40_000);
  const read = (name: string) => readFileSync(nvim.path(name), "utf8");

  /** Checks that an edit is listed with the CLI's name and that it can be undone. */
  async function isTracked(name: string, content: string): Promise<void> {
    await cli.write(name, content, `Done with ${content}.`);
    await cli.shows(new RegExp(`Done with ${content}`));
    const changes = "return require('gemini-bridge').changes()";
    await nvim.waitFor("#require('gemini-bridge').changes() == 1", "the change");
    t.match(await nvim.lua(changes), [{ path: nvim.path(name), status: "modified", cli: "gemini" }]);
    t.equal(read(name), `${content}\n`);
    await nvim.command("GeminiUndo all");
    await nvim.waitFor(() => read(name) === "one\n", "the undo");
  }

  /** Checks that the gate makes an edit in YOLO mode open a review. */
  async function isGated(name: string, content: string): Promise<void> {
    await nvim.command("GeminiGate on");
    await cli.write(name, content);
    await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "the review", 30_000);
    t.equal(read(name), "one\n", "nothing is written before the decision");
    await nvim.command("GeminiReject");
    await nvim.waitFor("#require('gemini-bridge').diffs() == 0", "the decision");
    t.equal(read(name), "one\n");
    // When a request is cancelled, the CLI empties its prompt.
    await cli.shows(new RegExp(`Write ${content}[\\s\\S]*Request cancelled[\\s\\S]*Type your message`));
    await nvim.command("GeminiGate off");
  }

  /** Ends Neovim while a review is open, and checks that the question of the CLI ends and that the CLI goes on. */
  async function goesOnAfter(end: () => void): Promise<void> {
    await nvim.command("GeminiGate on");
    await cli.write("b.txt", "last");
    await nvim.waitFor("#require('gemini-bridge').diffs() == 1", "the review", 30_000);
    await cli.shows(/Apply this change\?/);
    end();
    await nvim.exited;
    await cli.shows(/Write last[\s\S]*Request cancelled[\s\S]*Type your message/);
    model.say([{ text: "I go on." }]);
    await cli.type("Are you there");
    await cli.shows(/I go on\./);
    t.equal(read("b.txt"), "one\n");
  }
  return { nvim, bridge, cli, isTracked, isGated, goesOnAfter };
}

t.test("edits of a CLI in tmux are tracked, undone and gated, even after :GeminiRestart", async (t) => {
  const { nvim, bridge, cli, isTracked, isGated, goesOnAfter } = await start(t, false);
  await isTracked("a.txt", "first");
  await isGated("b.txt", "second");

  await bridge.replaceHost(() => nvim.command("GeminiRestart"));
  await nvim.waitFor("#require('gemini-bridge').status().clients == 1", "the CLI to be back");
  await isTracked("a.txt", "third");
  const interrupted = await nvim.lua(
    "return require('gemini-bridge.bridge.status').get().clients[1].interrupted",
  );
  if (interrupted) await cli.enable(); // on a busy machine, the CLI has noticed the restart
  await nvim.waitFor("not require('gemini-bridge.bridge.status').get().clients[1].interrupted", "the CLI");
  await isGated("b.txt", "fourth");
  await goesOnAfter(() => nvim.nvim.notify("nvim_command", ["qall"]));
});

t.test(
  "edits of a CLI in tmux are tracked and undone after a change of the port, and gated after reconnecting",
  async (t) => {
    const { nvim, bridge, cli, isTracked, isGated, goesOnAfter } = await start(t, true);
    const { port } = bridge.file();
    const stopped = performance.now();
    await nvim.stopBridge();
    let last = 0;
    const thief = createServer((socket) => {
      last = performance.now();
      socket.destroy();
    });
    await listenOn(t, thief, port);
    await nvim.startBridge();
    t.not(bridge.file().port, port);
    await isTracked("a.txt", "first");

    // The CLI's last attempt fails after 2.5 s. If the CLI had connected before, the failure would count for the new
    // connection.
    await waitFor(() => last - stopped > 2_200, "the CLI to give up");
    await cli.enable();
    await nvim.waitFor("(require('gemini-bridge').status().clients[1] or {}).hooks", "the CLI");
    await isGated("b.txt", "second");
    await goesOnAfter(() => nvim.kill());
  },
);

const SETUP = `
local env = { GEMINI_API_KEY = vim.env.GEMINI_API_KEY, GOOGLE_GEMINI_BASE_URL = vim.env.GOOGLE_GEMINI_BASE_URL }
require('gemini-bridge').setup({ terminal = { provider = 'tmux', env = env } })`;

const clients = async (nvim: Nvim) =>
  Number(await nvim.lua("return #require('gemini-bridge').status().clients"));

/**
 * Starts a second Neovim in the same directory. A CLI in another terminal chooses this Neovim, because its process id
 * is larger.
 */
async function startBeside(t: Test, nvim: Nvim, init = ""): Promise<Nvim> {
  const beside = await startNvim(t, {
    cwd: nvim.dirs.workspace,
    env: { TMPDIR: nvim.dirs.tmp },
    init,
    tui: true,
  });
  await beside.startBridge();
  return beside;
}

t.test(
  "the real CLI in a tmux pane connects to the Neovim that opened the pane, and later to the next Neovim",
  async (t) => {
    const { nvim } = await startWithGemini(t, { init: SETUP });
    const tmux = await startTmux(t, nvim, nvim.dirs.workspace);
    const own = tmux("display-message", "-p", "#{pane_id}");
    const rival = await startBeside(t, nvim);
    await nvim.command("Gemini");
    const pane = String(
      await nvim.waitFor("(require('gemini-bridge.terminal.terminals').last() or {}).pane", "the pane"),
    );
    await shows(tmux, /Type your message/, "-t", pane);
    await nvim.waitFor(async () => (await clients(nvim)) === 1, "the CLI to connect");
    t.equal(await clients(rival), 0, "another Neovim in this directory does not get it");
    await rival.close();

    nvim.kill();
    await nvim.exited;
    const next = await startBeside(t, nvim, SETUP);
    await enterTmux(next, join(nvim.dirs.base, "tmux"), own);
    await next.command("Gemini");
    t.equal(tmux("display-message", "-p", "#{pane_id}"), pane, "the next Neovim goes to the pane");
    await enable(tmux, "-t", pane);
    const connects = next.waitFor(async () => (await clients(next)) === 1, "the CLI to connect again");
    await t.resolves(
      connects.catch((cause) => {
        throw new Error(tmux("capture-pane", "-p", "-t", pane), { cause });
      }),
      "and the CLI connects to it, as it was told",
    );
  },
);
