import { ideContextStore } from "@google/gemini-cli-core/dist/src/ide/ideContext.js";
import t from "tap";
import { startContext } from "../support/context.ts";
import { shareNvim } from "../support/reset.ts";

shareNvim(t);

const files = { "a.txt": "one\ntwo\nthree\n", "b.txt": "x𝄞é日y\n", "c.txt": "see\n" };

t.test("a CLI is told the open file when the CLI connects", async (t) => {
  const { host } = await startContext(t, { files, args: ["a.txt"] });
  await host.until(t, () => host.paths(), ["a.txt"], "the file");
  t.match(host.active(), { path: host.nvim.path("a.txt"), cursor: { line: 1, character: 1 } });
});

t.test("the cursor counts lines from 1 and characters from 1 in UTF-16 units, in every mode", async (t) => {
  const { host } = await startContext(t, { files, args: ["b.txt"] });
  const step = async (keys: string, line: number, character: number) => {
    await host.nvim.input(keys);
    await host.until(t, () => host.active()?.cursor, { line, character }, keys);
  };
  await step("l", 1, 2);
  await step("l", 1, 4);
  await step("$", 1, 6);
  await step("A", 1, 7);
  await step("𝄞", 1, 9);
  await step("<CR>", 2, 1);
  await step("<Esc>kR12", 1, 3);
  await step("<Esc>0gh<Right>", 1, 2);
  await step("<Esc>:set list<C-r>=2<CR>", 1, 2);
  await step("<Esc>0/日", 1, 1);
  await host.nvim.command("badd c.txt");
  await host.until(t, () => host.paths().length, 2, "a snapshot while a pattern is typed");
  t.same(
    host.active()?.cursor,
    { line: 1, character: 1 },
    "a search that is being typed does not move the cursor",
  );
  await host.nvim.input("<C-r>=1+");
  await host.nvim.command("bdelete c.txt");
  await host.until(t, () => host.paths().length, 1, "a snapshot while an expression is asked for");
  t.same(host.active()?.cursor, { line: 1, character: 1 }, "nor does an expression within");
  await host.nvim.input("<C-c><C-u>日");
  await step("<CR>", 1, 4);
  await step("d", 1, 4);
  await host.nvim.input("<Esc>G:");
  await host.nvim.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'x' })");
  await host.nvim.command("badd c.txt");
  await host.until(t, () => host.paths().length, 2, "a snapshot after the text has gone");
  t.same(host.active()?.cursor, { line: 1, character: 1 });
  t.notMatch(await host.nvim.messages(), /rror executing|traceback/);
});

t.test("a buffer without a file does not become active", async (t) => {
  const { host, nvim } = await startContext(t, { files: { ...files, "dir/d.txt": "d\n" }, args: ["a.txt"] });
  await nvim.input("jl");
  const wanted = { path: nvim.path("a.txt"), isActive: true, cursor: { line: 2, character: 2 } };
  const seen = () => {
    const { timestamp: _, ...rest } = host.active() ?? { timestamp: 0 };
    return rest;
  };
  await host.until(t, seen, wanted, "the file");
  const here = [
    "new | terminal sh",
    "help",
    "copen",
    "split dir",
    "new",
    "split new.txt",
    "new | setlocal buftype=nofile | file scratch",
    "new | setlocal buftype=prompt",
    "lua vim.api.nvim_open_win(0, true, { relative = 'editor', row = 1, col = 1, width = 9, height = 3 })",
    "lua vim.api.nvim_open_win(vim.fn.bufadd('c.txt'), true, { relative = 'editor', row = 1, col = 1, width = 9, height = 3 })",
    "split gemini://1/x/a.txt",
    "split oil:///x/",
  ];
  for (const command of here) {
    const before = host.snapshots.length;
    await nvim.command(`silent! ${command}`);
    await nvim.waitFor(() => host.snapshots.length > before, "a snapshot");
    await host.until(t, seen, wanted, command);
    await nvim.command("silent! stopinsert | 1wincmd w | only!");
    await nvim.command("buffer a.txt | call cursor(2, 2)");
    await host.until(t, seen, wanted, "back in the file");
  }
});

t.test("the cursor is that of the last used window of a file", async (t) => {
  const { host, nvim } = await startContext(t, { files, args: ["a.txt"] });
  await nvim.input("<C-w>sj<C-w>jjj");
  await host.until(t, () => host.active()?.cursor?.line, 3, "the lower");
  await nvim.command("wincmd k");
  await host.until(t, () => host.active()?.cursor?.line, 2, "the upper");
  await nvim.command("botright vnew | terminal sh");
  await nvim.command("call win_execute(win_getid(2), 'normal! gg')");
  await nvim.command("badd b.txt");
  await host.until(t, () => host.paths().length, 2, "a snapshot");
  t.equal(host.active()?.cursor?.line, 2, "the upper, from a terminal");
  await nvim.command("1wincmd w | hide | wincmd b");
  await host.until(t, () => host.active()?.cursor?.line, 1, "the one that is left");
});

t.test(
  "with 'nohidden', the line is known after a terminal has replaced the file in its window",
  async (t) => {
    const { host, nvim } = await startContext(t, { files, args: ["a.txt"], init: "vim.o.hidden = false" });
    await nvim.input("G");
    await nvim.command("terminal sh");
    await nvim.command("badd b.txt");
    await host.until(t, () => host.paths().length, 2, "a snapshot");
    t.equal(await nvim.lua("return vim.api.nvim_buf_is_loaded(1)"), false);
    t.same(host.active()?.cursor, { line: 3, character: 1 });
  },
);

t.test(
  "after the active file was deleted, no file is active until the user enters another file",
  async (t) => {
    const { host, nvim } = await startContext(t, { files, args: ["a.txt", "b.txt", "c.txt"] });
    for (const command of ["bwipeout! a.txt", "bdelete b.txt"]) {
      await nvim.command("new | terminal sh | only");
      await nvim.command(command);
      await host.until(t, () => host.active(), undefined, command);
      await nvim.command("edit b.txt");
      await host.until(t, () => host.active()?.path, nvim.path("b.txt"), "until one is entered");
    }
  },
);

t.test("a file that is written for the first time becomes active", async (t) => {
  const { host } = await startContext(t, { files, args: ["a.txt"] });
  await host.nvim.command("edit new.txt");
  await host.nvim.input("ihello<Esc>");
  await host.until(t, () => host.active()?.path, host.nvim.path("a.txt"), "not before");
  await host.nvim.command("silent write");
  await host.until(t, () => host.active()?.path, host.nvim.path("new.txt"), "then");
});

t.test("a CLI also gets the focus times from before it connected", async (t) => {
  const { host } = await startContext(t, { files, args: ["a.txt"], connected: false });
  for (const command of ["edit b.txt", "edit c.txt", "edit a.txt", "botright vnew | terminal sh"]) {
    await host.nvim.command(`silent ${command}`);
  }
  t.equal(host.snapshots.length, 0, "nothing is sent before");
  await host.subscribe();
  await host.until(t, () => host.paths(), ["a.txt", "c.txt", "b.txt"], "in the order of focus");
  await host.until(t, () => host.active()?.path, host.nvim.path("a.txt"), "the last file");
});

t.test("a bridge that is started from a terminal knows the file beside the terminal", async (t) => {
  for (const commands of ["botright vnew | terminal sh", "terminal sh"]) {
    const init = `vim.cmd.edit('b.txt') vim.cmd.edit('a.txt') vim.cmd('silent ${commands}')`;
    const { host } = await startContext(t, { files, init });
    await host.until(t, () => host.active()?.path, host.nvim.path("a.txt"), commands);
    t.same(host.paths(), ["a.txt", "b.txt"]);
  }
});

t.test("the CLI's own store accepts every context unchanged", async (t) => {
  const { host } = await startContext(t, { files, args: ["a.txt"] });
  for (const keys of [
    "j",
    "vl",
    "<Esc>",
    ":edit b.txt<CR>",
    "$v0",
    "<Esc>:terminal<CR>",
    "<C-\\><C-n>:bwipeout! b.txt<CR>",
  ]) {
    const before = host.contexts.length;
    await host.nvim.input(keys);
    await host.nvim.waitFor(() => host.contexts.length > before, `a context after ${keys}`);
  }
  t.ok(host.contexts.length >= 7);
  for (const { value } of host.contexts) {
    ideContextStore.set(structuredClone(value));
    const kept = JSON.parse(JSON.stringify(ideContextStore.get()), (key, held) =>
      key === "isActive" && held === false ? undefined : held,
    );
    t.same(kept, value);
  }
});
