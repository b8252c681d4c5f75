import t, { type Test } from "tap";
import { z } from "zod";
import { startBridge } from "../support/bridge.ts";
import { type ContextHost, startContext } from "../support/context.ts";
import { type Nvim, startNvim } from "../support/nvim.ts";
import { shareNvim } from "../support/reset.ts";

shareNvim(t);

const files = { "a.txt": "one two\nthree\nfour\nfive\n", "b.txt": "abcdef\nab\n\nabcdef\n日本語\nx\ty\n" };

/** Lua that returns the highlighted text with a bar for each line break, and the lines with a sign. */
const SHOWN = `
local pinned, signs = {}, {}
for name, id in pairs(vim.api.nvim_get_namespaces()) do
  if vim.startswith(name, 'gemini-bridge') then
    for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(..., id, 0, -1, { details = true })) do
      local _, row, col, details = unpack(mark)
      if details.hl_group == 'GeminiPinned' then
        local there = details.end_row >= row
        local text = there and vim.api.nvim_buf_get_text(..., row, col, details.end_row, details.end_col, {}) or {}
        pinned[#pinned + 1] = table.concat(text, '|')
      end
      if details.sign_text then
        signs[#signs + 1] = row + 1
      end
    end
  end
end
return { pinned = table.concat(pinned, ','), signs = table.concat(signs, ',') }`;
const Shown = z.object({ pinned: z.string(), signs: z.string() });

async function shown(nvim: Nvim, buf = 0): Promise<z.infer<typeof Shown>> {
  return Shown.parse(await nvim.lua(SHOWN, buf));
}

/** Waits until exactly the given text is pinned and its first line has the sign. */
async function shows(
  t: Test,
  nvim: Nvim,
  pinned: string,
  line: number | undefined,
  what: string,
): Promise<void> {
  const wanted = { pinned, signs: line === undefined ? "" : String(line) };
  let last: unknown;
  await nvim
    .waitFor(async () => {
      last = await shown(nvim);
      return JSON.stringify(last) === JSON.stringify(wanted);
    }, what)
    .catch(() => {});
  t.strictSame(last, wanted, what);
}

const selected = (host: ContextHost) => () => host.active()?.selectedText;

t.test("a pinned selection is visible in its text, in the status line and in :GeminiStatus", async (t) => {
  const { bridge, nvim } = await startBridge(t, { files, args: ["a.txt"] });
  const line = () => nvim.lua("return require('gemini-bridge').statusline()");
  const says = (text: string) => nvim.waitFor(async () => (await line()) === `Gemini: ${text}`, text);
  const view = () =>
    nvim.lua("return table.concat(require('gemini-bridge.report.status_view').lines(), '\\n')");
  await says("waiting");
  t.notMatch(await view(), /Pinned/);
  await nvim.command("2,3GeminiSelect");
  await shows(t, nvim, "three|four", 2, "the lines");
  await says("waiting, selection pinned");
  t.match(await view(), /^Pinned +a\.txt, lines 2 to 3$/m);
  const client = await bridge.client();
  await says("connected, selection pinned");
  await client.waitForNotification(
    "ide/contextUpdate",
    ({ workspaceState }) => workspaceState?.openFiles?.[0]?.selectedText === "three\nfour",
  );
  await nvim.command("GeminiSelect!");
  await says("connected");
  await shows(t, nvim, "", undefined, "nothing is left");
  t.notMatch(await view(), /Pinned/);
  await nvim.input("wve:GeminiSelect<CR>");
  await shows(t, nvim, "two", 1, "exactly what was highlighted");
  t.match(await view(), /^Pinned +a\.txt, line 1$/m);
  await nvim.command("edit b.txt");
  await says("connected, selection pinned");
  t.match(await view(), /^Pinned +a\.txt, line 1$/m, "from another file, too");
});

t.test("pinning a selection shows the sign and redraws the status line", async (t) => {
  const nvim = await startNvim(t, {
    files,
    args: ["a.txt"],
    tui: true,
    init: "vim.o.statusline = '%f [%{v:lua.require(\"gemini-bridge\").statusline()}]'",
  });
  await nvim.command("GeminiStart");
  const screen = async () => (await nvim.screen()).join("\n");
  const sees = (pattern: RegExp) => nvim.waitFor(async () => pattern.test(await screen()), String(pattern));
  await sees(/a\.txt \[Gemini: waiting\]/);
  await nvim.command("2GeminiSelect");
  await sees(/^ +one two\n» three\n +four/);
  await sees(/a\.txt \[Gemini: waiting, selection pinned\]/);
  await nvim.type("jdd");
  await sees(/^one two *\nfour/);
  await sees(/a\.txt \[Gemini: waiting\]/);
});

t.test("the pin disappears when its text is deleted, and returns with the text", async (t) => {
  const { host, nvim } = await startContext(t, { files, args: ["a.txt"] });
  await nvim.command("2,3GeminiSelect");
  await host.until(t, selected(host), "three\nfour", "pinned");
  const step = async (command: string, text: string | undefined, pinned: string, line?: number) => {
    await nvim.command(command);
    await host.until(t, selected(host), text, command);
    await shows(t, nvim, pinned, line, command);
  };
  await step("2,3delete", undefined, "");
  await step("undo", "three\nfour", "three|four", 2);
  await step("1delete", "three\nfour", "three|four", 1);
  await step("undo", "three\nfour", "three|four", 2);
  await step("2substitute/ee//", "thr\nfour", "thr|four", 2);
  await step("undo", "three\nfour", "three|four", 2);
  await step("edit!", "three\nfour", "three|four", 2);
  await step("2,3move $", "three\nfour", "three|four", 3);
  await step("undo", "three\nfour", "three|four", 2);
  await step("%delete", undefined, "");
  await step("undo", "three\nfour", "three|four", 2);
  await step("edit b.txt | bunload a.txt", undefined, "");
  await step("buffer a.txt", "three\nfour", "three|four", 2);
  await step("file c.txt | write", "three\nfour", "three|four", 2);
  await step("edit b.txt | bdelete c.txt", undefined, "");
  await step("edit c.txt", undefined, "");
  await step("2,3GeminiSelect", "three\nfour", "three|four", 2);
  await step("bwipeout! | edit b.txt", undefined, "");
  await step("edit c.txt", undefined, "");
  t.equal(await nvim.lua("return require('gemini-bridge.context.pinned_selection').lines()"), null);
  t.notMatch(await nvim.messages(), /rror/);
});

t.test("an edit of the pinned text without a cursor movement is reported", async (t) => {
  const { host } = await startContext(t, { files, args: ["a.txt"] });
  await host.nvim.command("1GeminiSelect");
  await host.until(t, selected(host), "one two", "pinned");
  await host.nvim.input("x");
  await host.until(t, selected(host), "ne two", "one character less");
});

t.test("a block selection is pinned as highlighted, and each row follows its text", async (t) => {
  const { host, nvim } = await startContext(t, { files, args: ["b.txt"] });
  await nvim.input("gg0l<C-v>2l4j<Cmd>GeminiSelect<CR><Esc>");
  await host.until(t, selected(host), "bcd\nb\n\nbcd\n日本", "the columns");
  await shows(t, nvim, "bcd,b,,bcd,日本", 1, "the columns");
  await nvim.input("ggI....<Esc>");
  await host.until(t, () => host.active()?.cursor?.character, 4, "an edit before it");
  await host.until(t, selected(host), "bcd\nb\n\nbcd\n日本", "still the same text");
  await nvim.command("1delete");
  await host.until(t, selected(host), "b\n\nbcd\n日本", "without a row");
  await nvim.input("2GIa<Esc>");
  await host.until(t, () => host.active()?.cursor?.line, 2, "an edit in a row that ends before it");
  await host.until(t, selected(host), "b\n\nbcd\n日本", "which is still none of it");
  await nvim.command("GeminiSelect!");
  await host.until(t, selected(host), undefined, "dropped");
});

t.test("only the shared part of a long pinned block is read", async (t) => {
  const { host } = await startContext(t, {
    files: { "a.txt": "abc\n日本\n".repeat(15_000) },
    args: ["a.txt"],
  });
  await host.nvim.input("gg0<C-v>G<Cmd>GeminiSelect<CR><Esc>");
  await host.until(t, () => selected(host)()?.length, 16_384, "the length");
  t.ok((host.snapshots.at(-1)?.value.active?.selection?.length ?? 0) < 4 * 16_384);
});

t.test("the user can change the highlight of the pinned text", async (t) => {
  const link = (nvim: Nvim) => nvim.lua("return vim.api.nvim_get_hl(0, { name = 'GeminiPinned' })");
  const usual = await startNvim(t, { files, args: ["a.txt"] });
  await usual.command("GeminiSelect");
  t.match(await link(usual), { link: "Visual" });
  await usual.command("colorscheme habamax");
  t.match(await link(usual), { link: "Visual" }, "after another colour scheme");
  const init = "vim.cmd.highlight('GeminiPinned guibg=#123456')";
  const own = await startNvim(t, { files, args: ["a.txt"], init });
  await own.command("GeminiSelect");
  t.match(await link(own), { bg: 0x123456 });
});
