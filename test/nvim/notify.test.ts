import fc from "fast-check";
import t from "tap";
import { fuzz } from "../support/fuzz.ts";
import { type Nvim, startNvim } from "../support/nvim.ts";
import { shareNvim } from "../support/reset.ts";

shareNvim(t);

/** Lua that queues messages in one tick. */
const SEND = `
local notify = require('gemini-bridge.notify')
for _, notice in ipairs(...) do notify(notice.text, notice.level) end`;

const PROMPT = /Press ENTER|-- More --/;

interface Notice {
  text: string;
  level: "info" | "warn" | "error";
}

/**
 * Shows messages, and waits until they are in the history and on the screen. A "Press ENTER" prompt would prevent this.
 * @param shown text that the screen must show at the start of a line
 * @param whole further text that the screen must show
 */
async function say(
  nvim: Nvim,
  notices: Notice[],
  shown: string,
  whole = /(?:)/,
): Promise<{ history: string; screen: string }> {
  await nvim.command("messages clear");
  await nvim.lua(SEND, notices);
  let screen = "";
  const look = async () => {
    screen = (await nvim.screen()).map((line) => line.trimEnd()).join("\n");
    return `${screen}\n`.includes(`\n${shown}`) && whole.test(screen);
  };
  await nvim.waitFor(look, shown).catch((error: Error) => {
    throw new Error(`${error.message}\n${screen}`);
  });
  const { mode, blocking } = await nvim.nvim.mode;
  if (blocking || mode.startsWith("r")) throw new Error(`Neovim is in mode ${mode}`);
  return { history: await nvim.messages(), screen };
}

for (const columns of [50, 64, 80]) {
  t.test(`messages of any length fit into ${columns} columns`, async (t) => {
    const nvim = await startNvim(t, { tui: { columns, lines: 14 } });
    const character = fc.constantFrom(..."abc /.:'\"\\|%漢字é…", "e\u0301", "👍", "\t");
    const text = fc
      .array(fc.string({ unit: character, maxLength: 120 }), { minLength: 1, maxLength: 12 })
      .map((lines) => lines.join("\n"));
    const notices = fc.array(
      fc.record({ text, level: fc.constantFrom("info" as const, "warn" as const, "error" as const) }),
      { minLength: 1, maxLength: 4 },
    );
    const options = fc.constantFrom(
      "cmdheight=1",
      "cmdheight=2",
      "cmdheight=0",
      "cmdheight=3 noshowcmd",
      "cmdheight=1 noruler laststatus=0",
      "cmdheight=1 shortmess-=T",
    );
    let number = 0;
    const cases = fc.asyncProperty(notices, options, async (some, set) => {
      await nvim.command("set cmdheight& showcmd& ruler& laststatus& shortmess&");
      await nvim.command(`set ${set}`);
      number++;
      const all = some.map((notice) => ({ ...notice, text: `${number} ${notice.text}` }));
      const { history, screen } = await say(nvim, all, `gemini-bridge: ${number}`);
      if (PROMPT.test(screen)) throw new Error(screen);
      if (set.includes("=0") || set.includes("-=")) return;
      const lines = all.flatMap((notice) =>
        `gemini-bridge: ${notice.text.replaceAll("\t", " ")}`.split("\n"),
      );
      for (const line of lines) if (!history.includes(line)) throw new Error(`not in the history: ${line}`);
    });
    // Does not shrink failing cases, because each failing case waits for its timeout.
    await fc.assert(cases, { ...fuzz(t, `notices at ${columns} columns`, 40), endOnFailure: true });
  });
}

t.test("a message fits the screen", async (t) => {
  const nvim = await startNvim(t, { tui: { columns: 60, lines: 14 } });
  const info = (text: string): Notice => ({ text, level: "info" });

  await t.test("a short message is shown completely", async (t) => {
    const { history } = await say(nvim, [info("It fits.")], "gemini-bridge: It fits.\n");
    t.equal(history.trim(), "gemini-bridge: It fits.", "said once");
  });

  await t.test("a long message shows its start and its end", async (t) => {
    const text = "Cannot write /home/漢字/a/very/long/name/that/goes/on/and/on: do something.";
    const cut = /^gemini-bridge: Cannot .*….*something\.$/m;
    const { history } = await say(nvim, [info(text)], "gemini-bridge: Cannot", cut);
    t.equal(history.trim(), `gemini-bridge: ${text}`);
  });

  await t.test("a long message fits with 'ambiwidth' double", async () => {
    await nvim.command("set ambiwidth=double");
    const text = `Cannot write ${"a/long/name/".repeat(6)}: do something.`;
    await say(nvim, [info(text)], "gemini-bridge: Cannot", /something\.$/m);
    await nvim.command("set ambiwidth=single");
  });

  await t.test("a long message shows the whole command that it recommends", async () => {
    const text = "The gate stays off, because gemini has no hooks: run :GeminiDoctor first.";
    await say(nvim, [info(text)], "gemini-bridge: The", /^gemini-bridge: The .*…:GeminiDoctor first\.$/m);
  });

  await t.test("a long message shows its whole last clause, which says what to do", async () => {
    const text = "The bridge did not start: /tmp/gemini belongs to another user; set TMPDIR first.";
    await say(nvim, [info(text)], "gemini-bridge: The", /^gemini-bridge: The .*…set TMPDIR first\.$/m);
  });

  await t.test("a long message without the output of a program has dots only once", async () => {
    const text = `Cannot write the file in this folder:\n${"output\n".repeat(30)}see the output above`;
    await say(
      nvim,
      [info(text)],
      "gemini-bridge: Cannot",
      /^gemini-bridge: Cannot [^…]*… see the output above$/m,
    );
  });

  await t.test("the output of a program in the middle of a message is replaced by dots", async () => {
    const text = `It failed:\n${"output\n".repeat(30)}do something.`;
    await say(nvim, [info(text)], "gemini-bridge: It failed: … do something.\n");
  });

  await t.test("the most severe of several messages is shown", async (t) => {
    const { history } = await say(
      nvim,
      [info("One."), { text: "Two.", level: "error" }, info("Three.")],
      "gemini-bridge: Two. (+2 in :messages)\n",
    );
    t.equal(
      history.trim(),
      "gemini-bridge: One.\ngemini-bridge: Two.\ngemini-bridge: Three.",
      "the history has them in their order",
    );
  });
});

t.test("a message in Terminal mode is on the screen when the user leaves that mode", async (t) => {
  const nvim = await startNvim(t, { tui: { columns: 60, lines: 14 } });
  await nvim.command("terminal cat");
  await nvim.input("i");
  await nvim.waitFor("vim.api.nvim_get_mode().mode == 't'", "Terminal mode");
  await nvim.lua("require('gemini-bridge.notify')('Read this.')");
  await nvim.says("Read this.");
  await nvim.input("<C-\\><C-n>");
  await nvim.waitFor(
    async () => (await nvim.screen()).at(-1)?.trimEnd() === "gemini-bridge: Read this.",
    "the message on the screen",
  );
  t.equal((await nvim.messages()).trim(), "gemini-bridge: Read this.", "once in the history");
});

t.test("a message just before Terminal mode is on the screen when the user leaves that mode", async (t) => {
  const nvim = await startNvim(t, { tui: { columns: 60, lines: 14 } });
  await nvim.command("terminal cat");
  await nvim.lua("require('gemini-bridge.notify')('Read this.')");
  await nvim.says("Read this.");
  await nvim.input("i");
  await nvim.waitFor("vim.api.nvim_get_mode().mode == 't'", "Terminal mode");
  await nvim.command("echo ''");
  await nvim.input("<C-\\><C-n>");
  await nvim.waitFor(
    async () => (await nvim.screen()).at(-1)?.trimEnd() === "gemini-bridge: Read this.",
    "the message on the screen",
  );
});

t.test("a message waits until the user has answered a question", async (t) => {
  const nvim = await startNvim(t, { tui: { columns: 60, lines: 14 } });
  const later = "vim.defer_fn(function() require('gemini-bridge.notify')('this is the end.') end, 50)";

  await t.test("a message waits until the command line is closed", async (t) => {
    await nvim.lua(later);
    await nvim.input(":echo 12");
    await nvim.waitFor("#vim.api.nvim_get_autocmds({ event = 'SafeState' }) > 0", "the notice to wait");
    const isShown = async () => /^:echo 12$/m.test((await nvim.screen()).join("\n"));
    await t.resolves(nvim.waitFor(isShown, "the command line on the screen"));
    await nvim.input("<C-c>");
    await nvim.says("the end.");
  });

  await t.test("a message waits until a mapping has read its key", async (t) => {
    await nvim.command("messages clear");
    await nvim.command("nnoremap <expr> Q getcharstr()");
    await nvim.lua(`${later} vim.api.nvim_input('Q')`);
    await nvim.says("the end.");
    await nvim.input("j");
    t.notMatch((await nvim.screen()).join("\n"), PROMPT);
  });
});

const OWN_NOTIFY = {
  function: "vim.notify = function(...) table.insert(shown, { ... }) end",
  // nvim-notify is a table with a metatable.
  "callable table":
    "vim.notify = setmetatable({}, { __call = function(_, ...) table.insert(shown, { ... }) end })",
};
for (const [kind, set] of Object.entries(OWN_NOTIFY))
  t.test(
    `the user's own vim.notify, a ${kind}, gets the whole message without the plugin's name`,
    async (t) => {
      const init = `shown = {} ${set}`;
      const nvim = await startNvim(t, { init, tui: { columns: 50, lines: 14 } });
      const text = `${"much ".repeat(40)}\nand more\n`;
      await nvim.lua(SEND, [
        { text, level: "warn" },
        { text: "b", level: "info" },
      ]);
      t.same(await nvim.waitFor("#shown == 2 and shown", "both"), [
        [text, 3, { title: "Gemini" }],
        ["b", 2, { title: "Gemini" }],
      ]);
      t.equal((await nvim.messages()).trim(), "");
    },
  );

t.test("if the user's vim.notify fails, no message is lost", async (t) => {
  const init = "vim.notify = function() error('broken') end";
  const nvim = await startNvim(t, { init, tui: { columns: 50, lines: 14 } });
  await nvim.lua(SEND, [
    { text: "one", level: "warn" },
    { text: "two", level: "info" },
  ]);
  await nvim.lua(SEND, [{ text: "three", level: "info" }]);
  await nvim.says("three");
  t.equal((await nvim.messages()).trim(), "gemini-bridge: one\ngemini-bridge: two\ngemini-bridge: three");
  t.notMatch((await nvim.screen()).join("\n"), PROMPT);
});
