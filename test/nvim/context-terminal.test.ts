import t, { type Test } from "tap";
import { shows, startWithAgent } from "../support/agent.ts";
import { RunningBridge } from "../support/bridge.ts";
import { type ContextHost, startContext } from "../support/context.ts";
import { shareNvim } from "../support/reset.ts";
import type { Scope } from "../support/scope.ts";

shareNvim(t);

const files = { "a.txt": "one two\nthree\nfour\n", "b.txt": "bee\n" };

const selected = (host: ContextHost) => () => host.active()?.selectedText;

/** Opens a file at the left, with the focus, and a terminal at the right. */
async function besideTerminal(t: Scope, connected = true): Promise<ContextHost> {
  const { host } = await startContext(t, { files, args: ["a.txt"], connected });
  await host.nvim.command("rightbelow vertical new | terminal sh");
  await host.nvim.command("wincmd h");
  return host;
}

/** Opens the same windows again, with the files from the disk and without a selection. */
async function openAgain(t: Test, host: ContextHost): Promise<void> {
  await host.nvim.input("<C-\\><C-n>");
  for (const command of ["unmap <C-l>", "fclose!", "only", "%bwipeout!"])
    await host.nvim.command(`silent! ${command}`);
  await host.nvim.command("edit a.txt");
  await host.nvim.command("rightbelow vertical new | terminal sh");
  await host.nvim.command("wincmd h");
  await host.until(t, selected(host), undefined, "nothing is selected");
}

const ways: [name: string, keys: string, setup?: string][] = [
  ["<C-w>l", "<C-w>l"],
  ["a mapping of <C-w>l", "<C-l>", "vim.keymap.set('', '<C-l>', '<C-w>l')"],
  ["a mapping that leaves Visual mode first", "<C-l>", "vim.keymap.set('x', '<C-l>', '<Esc><C-w>l')"],
  ["a <Cmd> mapping", "<C-l>", "vim.keymap.set('x', '<C-l>', '<Cmd>wincmd l<CR>')"],
  ["a Lua mapping", "<C-l>", "vim.keymap.set('x', '<C-l>', function() vim.cmd.wincmd('l') end)"],
  ["a mapping with a command line", "<C-l>", "vim.keymap.set('x', '<C-l>', ':<C-u>wincmd l<CR>')"],
  ["a command line", ":<C-u>wincmd l<CR>"],
  ["a command line with its range", ":Leave<CR>", "vim.cmd('command -range Leave wincmd l')"],
  ["a terminal in the same window", ":<C-u>terminal sh<CR>"],
  ["a terminal in a new window", ":<C-u>split | terminal sh<CR>"],
  ["a mouse click", "<LeftMouse><120,3><LeftRelease><120,3>"],
  [
    "a floating terminal",
    "<C-l>",
    `vim.keymap.set('x', '<C-l>', function()
      local float = { relative = 'editor', row = 2, col = 2, width = 40, height = 10 }
      vim.api.nvim_open_win(vim.api.nvim_create_buf(false, true), true, float)
      vim.cmd('terminal sh')
    end)`,
  ],
];

t.test("a selection is kept after each way to enter a terminal", async (t) => {
  const host = await besideTerminal(t);
  for (const [name, keys, setup] of ways) {
    await openAgain(t, host);
    if (setup) await host.nvim.lua(setup);
    await host.nvim.input("wvj");
    await host.until(t, selected(host), "two\nthree", "highlighted");
    const before = host.snapshots.length;
    await host.nvim.input(keys);
    await host.nvim.waitFor("vim.bo.buftype == 'terminal'", "the terminal");
    await host.nvim.input("i");
    await host.nvim.waitFor("vim.fn.mode() == 't'", "Terminal mode");
    await host.nvim.waitFor(() => host.snapshots.length > before, "a snapshot");
    await host.nvim.input("echo hello<CR>");
    await host.until(t, selected(host), "two\nthree", `kept by ${name}`);
    t.equal(host.active()?.path, host.nvim.path("a.txt"));
  }
});

t.test("a kept block selection has the columns of its own window", async (t) => {
  const { host, nvim } = await startContext(t, {
    files: { "a.txt": "abcdefgh\nx\ty\n日本語日本語\nabcdefgh\n" },
    args: ["a.txt"],
  });
  await nvim.command("setlocal tabstop=4");
  for (const command of ["terminal sh", "enew", "split | terminal sh | only"]) {
    await nvim.input("gg0ll<C-v>3j3l");
    await host.until(t, selected(host), "cdef\n  y\n本語\ncdef", `highlighted before ${command}`);
    await nvim.input(`:<C-u>${command}<CR>`);
    const before = host.snapshots.length;
    await nvim.command("badd later.txt");
    await nvim.waitFor(
      () =>
        host.snapshots
          .slice(before)
          .some(({ value }) => value.buffers.some(({ path }) => path?.endsWith("later.txt"))),
      "a snapshot from after that",
    );
    t.equal(selected(host)(), "cdef\n  y\n本語\ncdef", `kept after ${command}`);
    await nvim.command("bwipeout later.txt | buffer a.txt");
  }
});

t.test("moving the cursor or editing a file drops a kept selection", async (t) => {
  const ends: [name: string, keys: string, left?: string][] = [
    ["moving", "h"],
    ["moving away and back", "hl"],
    ["editing", "x"],
    ["typing", "ix"],
    ["moving in another file", ":edit b.txt<CR>"],
    ["another selection", "v", "o"],
  ];
  const host = await besideTerminal(t);
  for (const [name, keys, left] of ends) {
    await openAgain(t, host);
    await host.nvim.input("wve<C-w>l");
    await host.until(t, selected(host), "two", "kept");
    const before = host.snapshots.length;
    await host.nvim.input("<C-w>h");
    await host.nvim.waitFor(() => host.snapshots.length > before, "a snapshot");
    await host.until(t, selected(host), "two", "kept on coming back");
    await host.nvim.input(keys);
    await host.until(t, selected(host), left, `ended by ${name}`);
  }
});

t.test("<Esc> and keys typed before entering a terminal drop the selection", async (t) => {
  const host = await besideTerminal(t);
  for (const keys of ["<Esc>", "<C-c>", "v", ":<Esc>", "y"]) {
    await openAgain(t, host);
    await host.nvim.input("wve");
    await host.until(t, selected(host), "two", "highlighted");
    await host.nvim.input(keys);
    await host.until(t, selected(host), undefined, `dropped by ${keys}`);
    const before = host.snapshots.length;
    await host.nvim.input("<C-w>l");
    await host.nvim.waitFor(() => host.snapshots.length > before, "a snapshot");
    t.equal(host.active()?.selectedText, undefined, `and not kept after ${keys}`);
  }
});

t.test("a CLI that is started after the user has entered a terminal is told the selection", async (t) => {
  const host = await besideTerminal(t, false);
  await host.nvim.input("wvj:<C-u>wincmd l<CR>");
  t.equal(host.snapshots.length, 0, "nothing is sent while no CLI is connected");
  await host.subscribe();
  await host.until(t, selected(host), "two\nthree", "told");
});

t.test(":GeminiSelect pins a selection, and :GeminiSelect! unpins it", async (t) => {
  const host = await besideTerminal(t);
  const { nvim } = host;
  await nvim.command("2,3GeminiSelect");
  await host.until(t, selected(host), "three\nfour", "lines");
  await nvim.input("ggOnew<Esc>j");
  await host.until(t, () => host.active()?.cursor?.line, 2, "the cursor has moved");
  await host.until(t, selected(host), "three\nfour", "still pinned");
  await nvim.input("GddGAy<Esc>0<C-w>l");
  await host.until(t, selected(host), "threey", "the pin follows the text");
  await nvim.input("<C-w>hgg0v");
  await host.until(t, selected(host), "n", "what is highlighted comes first");
  await nvim.input("<Esc>");
  await host.until(t, selected(host), "threey", "and the pin comes back");
  await nvim.command("GeminiSelect!");
  await host.until(t, selected(host), undefined, "dropped");
  await nvim.input("gg0jwvl:GeminiSelect<CR>");
  await host.until(t, selected(host), "tw", "exactly what was highlighted");
});

t.test(":Gemini keeps the selection, even if it starts the bridge", async (t) => {
  for (const keys of [":Gemini<CR>", "<Plug>(Gemini)"]) {
    const nvim = await startWithAgent(t, "", { args: ["a.txt"] });
    await nvim.lua("vim.keymap.set('x', 'Q', '<Plug>(Gemini)')");
    await nvim.input(`lvj${keys.startsWith(":") ? keys : "Q"}`);
    await shows(nvim, /child/);
    const client = await new RunningBridge(t, nvim).client();
    const context = await client.waitForNotification("ide/contextUpdate");
    t.match(context.workspaceState?.openFiles, [{ path: nvim.path("a.txt"), selectedText: "ne\ntw" }], keys);
    t.equal(await nvim.messages(), "");
  }
});
