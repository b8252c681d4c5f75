/** Tests the delivery of prompts while the terminal changes at critical moments. */
import t, { type Test } from "tap";
import { type Cli, createCli } from "../../src/prompt/screen-state.ts";
import { type Appearance, DRAWINGS } from "../../src/prompt/screens.ts";
import { createBuffers, type Terminal } from "../../src/prompt/terminal.ts";
import { createIdeEnabler } from "../../src/prompt/type-ide-enable.ts";
import { deliver } from "../../src/prompt/wait-and-type.ts";
import { waitFor } from "../support/wait.ts";

const EMPTY = [" >   Type your message or @path/to/file"];
const QUESTION = ["│ ● 1. Allow once"];
const CONNECT_QUESTION = [`│ Do you want to connect Neovim (${"🦀".repeat(40)}) to │`, "│ Gemini CLI? │"];

/**
 * A simulated terminal with a CLI. The CLI shows pasted text, and clears its prompt at Enter. Like Neovim, the terminal
 * refuses typing if the screen has changed after the last read.
 */
class Scripted implements Terminal {
  readonly name = "gemini";
  readonly cwd = "/";
  readonly buf = 1;
  typed: string[] = [];
  isFollowed = false;
  screen = EMPTY;
  appearance: Appearance = { suggested: [], isUntouched: false };
  /** Returns the screen after a paste. */
  show = (text: string) => [` > ${text}`];
  /** Runs before anything is typed. */
  beforeTyping = (_what: string) => {};
  #read = EMPTY;

  follow() {
    this.isFollowed = true;
    return () => {
      this.isFollowed = false;
    };
  }
  async next() {
    await new Promise(setImmediate);
    this.#read = this.screen;
    return { lines: this.screen, appearance: this.appearance, isEditing: false };
  }
  paste = (text: string) => this.#type(text);
  press = (keys: string) => this.#type(keys);
  focus() {}

  async #type(what: string) {
    this.beforeTyping(what);
    if (this.#read !== this.screen) return false;
    this.typed.push(what);
    this.screen = ["\r", "\x1b"].includes(what) ? EMPTY : this.show(what);
    return true;
  }
}

const start = (): { terminal: Scripted; cli: Cli } => {
  const terminal = new Scripted();
  return { terminal, cli: createCli(terminal, DRAWINGS.gemini, () => false) };
};
const prompt = () => ({ id: 1, submit: true, isCancelled: false });

t.test("a suggestion in the prompt is replaced, and a text of the user is not sent", async (t) => {
  for (const stays of [false, true]) {
    const terminal = new Scripted();
    const cli = createCli(terminal, DRAWINGS.qwen, () => false);
    terminal.appearance = { suggested: [], isUntouched: true };
    const suggestion = ["> run the tests", "────"];
    terminal.screen = suggestion;
    terminal.beforeTyping = () => {
      terminal.appearance = { suggested: [], isUntouched: false };
    };
    terminal.show = (text) => [`> ${stays ? "run the tests" : ""}${text}`, "────"];
    const { problem } = await deliver(cli, prompt(), { text: "hello", enter: true }, () => {});
    t.same(terminal.typed, stays ? ["hello"] : ["hello", "\r"]);
    t.equal(
      problem,
      stays ? "The prompt of gemini contains another text, too: press Enter there to send both." : undefined,
    );
  }
});

t.test("Enter is not pressed if a question opens just before", async (t) => {
  const { terminal, cli } = start();
  const states: string[] = [];
  terminal.beforeTyping = (what) => {
    if (what === "\r" && !states.includes("question")) terminal.screen = QUESTION;
  };
  const delivery = deliver(cli, prompt(), { text: "hello ", enter: true }, (state) => states.push(state));
  await waitFor(() => states.includes("question"), "the prompt to wait for the answer");
  t.same(terminal.typed, ["hello "]);
  terminal.screen = [" > hello "];
  t.same(await delivery, { typed: true });
  t.same(terminal.typed, ["hello ", "\r"], "it is sent after the answer");
  t.notOk(terminal.isFollowed);
});

t.test("a prompt is not pasted below text that the user has just begun", async (t) => {
  const { terminal, cli } = start();
  let isBegun = false;
  terminal.beforeTyping = () => {
    if (!isBegun) terminal.screen = [" > my own"];
    isBegun = true;
  };
  const states: string[] = [];
  const delivery = deliver(cli, prompt(), { text: "hello ", enter: true }, (state) => states.push(state));
  await waitFor(() => states.includes("typed"), "the prompt to wait for the user");
  t.same(terminal.typed, []);
  terminal.screen = EMPTY;
  t.same(await delivery, { typed: true });
  t.same(terminal.typed, ["hello ", "\r"]);
});

t.test("a prompt is not lost in a CLI that draws its prompt before it reads keys", async (t) => {
  const { terminal, cli } = start();
  terminal.screen = ["Initializing..."];
  let isReading = false;
  terminal.beforeTyping = () => {
    if (!isReading) t.fail("the CLI would drop the text");
  };
  const states: string[] = [];
  const delivery = deliver(cli, prompt(), { text: "hello ", enter: true }, (state) => states.push(state));
  await waitFor(() => states.includes("absent"), "the prompt to wait for the CLI");
  terminal.screen = EMPTY;
  setTimeout(() => {
    isReading = true;
  }, 100);
  t.same(await delivery, { typed: true });
  t.same(terminal.typed, ["hello ", "\r"]);
});

/** Types `/ide enable` into a CLI that asks whether to connect. */
function startEnabling(t: Test, { terminal, cli }: ReturnType<typeof start>): () => Promise<void> {
  const closing = new AbortController();
  const enable = createIdeEnabler({
    bridge: { tell: () => t.fail("it tells the user nothing") } as never,
    destinations: { running: () => cli, started: async () => cli },
    drawingOf: () => DRAWINGS.gemini,
    connected: () => 0,
    signal: closing.signal,
  });
  const enabled = enable({ terminal: terminal.name, types: true, isAsked: true, hint: "" }).catch(() => {});
  return async () => {
    closing.abort();
    await enabled;
  };
}

t.test("a prompt and /ide enable are typed one after the other", async (t) => {
  const { terminal, cli } = start();
  terminal.screen = CONNECT_QUESTION;
  const end = startEnabling(t, { terminal, cli });
  await waitFor(() => terminal.typed.includes("/ide enable"), "the command");
  await deliver(cli, { ...prompt(), submit: false }, { text: "hello ", enter: false }, () => {});
  t.same(terminal.typed, ["\x1b", "/ide enable", "\r", "hello "]);
  await end();
});

t.test("/ide enable is typed again if an opening question has discarded it", async (t) => {
  const { terminal, cli } = start();
  terminal.beforeTyping = (what) => {
    if (what === "/ide enable" && terminal.typed.length === 0)
      queueMicrotask(() => {
        terminal.screen = CONNECT_QUESTION;
      });
  };
  const end = startEnabling(t, { terminal, cli });
  await waitFor(() => terminal.typed.includes("\r"), "the command to be entered");
  t.same(terminal.typed, ["/ide enable", "\x1b", "/ide enable", "\r"]);
  await end();
});

t.test("/ide enable is typed only once if the CLI keeps it below a question", async (t) => {
  const { terminal, cli } = start();
  terminal.beforeTyping = (what) => {
    if (what === "/ide enable")
      queueMicrotask(() => {
        terminal.screen = CONNECT_QUESTION;
      });
    if (what === "\x1b")
      queueMicrotask(() => {
        terminal.screen = [" > /ide enable"];
      });
  };
  const end = startEnabling(t, { terminal, cli });
  await waitFor(() => terminal.typed.includes("\r"), "the command to be entered");
  await waitFor(() => !terminal.isFollowed, "the end of typing");
  t.same(terminal.typed, ["/ide enable", "\x1b", "\r"]);
  await end();
});

t.test(
  "after a refused key, the host waits for the next screen, which may already have arrived",
  async (t) => {
    const closing = new AbortController();
    let refuse = () => {};
    const answer = new Promise((resolve) => {
      refuse = () => resolve({ typed: false });
    });
    const bridge = { tell() {}, call: () => answer } as never;
    const buffers = createBuffers(bridge, closing.signal);
    const show = (text: string) =>
      buffers.handlers.screen({
        buf: 1,
        tick: 1,
        lines: [text],
        suggested: [],
        isUntouched: false,
        isEditing: false,
      });
    const terminal = buffers.terminal(1, "gemini", "/");
    const unfollow = terminal.follow();
    show("first");
    t.match(await terminal.next(), { lines: ["first"] });
    const next = terminal.next();
    const typed = terminal.press("\r");
    refuse();
    show("second");
    t.equal(await typed, false);
    t.match(await next, { lines: ["second"] }, "a screen that arrives together with the refusal is not lost");
    t.equal(await terminal.press("\r"), false);
    setTimeout(show, 10, "third");
    t.match(await terminal.next(), { lines: ["third"] }, "the refused screen is not used again");
    unfollow();
  },
);
