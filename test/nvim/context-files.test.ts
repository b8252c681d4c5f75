import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import t from "tap";
import { z } from "zod";
import { type ContextHost, startContext } from "../support/context.ts";
import { shareNvim } from "../support/reset.ts";

shareNvim(t);

const files = { "a.txt": "a\nA\n", "b.txt": "b\nB\n", "c.txt": "c\nC\n", "dir/d.txt": "d\n" };

t.test("files in the context are sorted by last focus, with different timestamps", async (t) => {
  const { host } = await startContext(t, { files, args: ["a.txt", "b.txt", "c.txt"] });
  await host.until(t, () => host.paths(), ["a.txt", "b.txt", "c.txt"], "those never entered come last");
  await host.nvim.command("edit c.txt");
  await host.nvim.command("edit dir/d.txt");
  await host.nvim.command("edit b.txt");
  await host.until(t, () => host.paths(), ["b.txt", "dir/d.txt", "c.txt", "a.txt"], "the order of focus");
  const times = host.files().map(({ timestamp }) => timestamp);
  t.ok(
    times.every((time, index) => index === 0 || time < (times[index - 1] ?? 0)),
    "no two alike",
  );
  t.ok(Math.abs((times[0] ?? 0) - Date.now()) < 5000, "milliseconds");
  t.equal(host.files().filter(({ isActive }) => isActive).length, 1);
});

t.test("the focus history includes closed splits, but no floats", async (t) => {
  const names = ["a.txt", "split.txt", "float.txt", ...Array.from({ length: 100 }, (_, i) => `many${i}.txt`)];
  const { host, nvim } = await startContext(t, {
    files: Object.fromEntries(names.map((name) => [name, "x\n"])),
    args: ["a.txt"],
    connected: false,
  });
  const float =
    "nvim_open_win(vim.fn.bufadd('float.txt'), true, { relative = 'editor', row = 1, col = 1, width = 9, height = 3 })";
  const enter = async (...commands: string[]) => {
    for (const command of commands) await nvim.command(command);
  };
  await enter("split split.txt", "close", "badd float.txt");
  const second = await nvim.lua("return os.time()");
  await nvim.waitFor(`os.time() > ${second}`, "a later use of the float, in whole seconds");
  await enter(`lua vim.api.${float}`, "close");
  await host.subscribe();
  await host.until(t, () => host.paths(), ["a.txt", "split.txt", "float.txt"], "one of each");
  await host.call("context_unsubscribe", {});
  await enter(
    "edit split.txt",
    `lua vim.api.${float}`,
    "noautocmd close",
    "for i in range(100) | execute 'edit many' .. i .. '.txt' | endfor",
    "edit a.txt",
  );
  await host.subscribe();
  const newest = Array.from({ length: 9 }, (_, i) => `many${99 - i}.txt`);
  await host.until(t, () => host.paths(), ["a.txt", ...newest], "more than are looked at closely");
  await enter("for i in range(100) | execute 'bwipeout many' .. i .. '.txt' | endfor");
  await host.until(t, () => host.paths(), ["a.txt", "split.txt", "float.txt"], "those before them");
});

t.test("at most ten files are listed in the context", async (t) => {
  const many = Object.fromEntries(Array.from({ length: 14 }, (_, index) => [`f${index}.txt`, "x\n"]));
  const { host } = await startContext(t, { files: many, args: Object.keys(many) });
  await host.nvim.command("silent bufdo edit");
  await host.nvim.command("edit f3.txt");
  await host.until(t, () => host.paths().slice(0, 3), ["f3.txt", "f13.txt", "f12.txt"], "the last focused");
  t.equal(host.files().length, 10);
});

t.test("buffers without a file on disk are not listed in the context", async (t) => {
  const { host, nvim } = await startContext(t, { files, args: ["a.txt"] });
  for (const command of [
    "new",
    "edit new.txt",
    "edit dir",
    "edit oil:///tmp/",
    "edit fugitive:///x/.git//0/a.txt",
    "noautocmd edit scp://host/a.txt",
    "terminal sh",
    "help",
    "setlocal buftype=nofile",
    "badd missing.txt",
    "call bufadd('b.txt')",
  ]) {
    await nvim.command(`silent! ${command}`);
  }
  await nvim.command("split c.txt");
  await host.until(t, () => host.paths(), ["c.txt", "a.txt"], "files alone");
});

t.test("the list of open files follows changes of buffers", async (t) => {
  const { host, nvim } = await startContext(t, { files, args: ["a.txt"] });
  const step = async (command: string, wanted: string[]) => {
    await nvim.command(`silent ${command}`);
    await host.until(t, () => host.paths(), wanted, command);
  };
  await step("badd b.txt", ["a.txt", "b.txt"]);
  await step("edit new.txt", ["a.txt", "b.txt"]);
  await step("write", ["new.txt", "a.txt", "b.txt"]);
  await step(
    "saveas other.txt",
    ["other.txt", "new.txt", "a.txt", "b.txt"].sort((x, y) => order(x) - order(y)),
  );
  await step("bdelete new.txt", ["other.txt", "a.txt", "b.txt"]);
  await step("file renamed.txt", ["a.txt", "b.txt"]);
  await step("write", ["renamed.txt", "a.txt", "b.txt"]);
  await step("bwipeout b.txt", ["renamed.txt", "a.txt"]);
  await step("setlocal nobuflisted", ["a.txt"]);
  await step("setlocal buflisted", ["renamed.txt", "a.txt"]);
  await step("enew", ["renamed.txt", "a.txt"]);
  await step("0file", ["renamed.txt", "a.txt"]);
  await step("write unnamed.txt", ["unnamed.txt", "renamed.txt", "a.txt"]);
  function order(name: string): number {
    return ["other.txt", "a.txt", "b.txt", "new.txt"].indexOf(name);
  }
});

t.test("the list of open files follows changes on the disk", async (t) => {
  const { host, nvim } = await startContext(t, { files, args: ["a.txt", "b.txt", "c.txt"] });
  await host.until(t, () => host.paths(), ["a.txt", "b.txt", "c.txt"], "all");
  rmSync(nvim.path("b.txt"));
  await host.until(t, () => host.paths(), ["a.txt", "c.txt"], "one was deleted");
  renameSync(nvim.path("c.txt"), nvim.path("moved.txt"));
  await host.until(t, () => host.paths(), ["a.txt"], "one was renamed");
  writeFileSync(nvim.path("b.txt"), "again\n");
  await host.until(t, () => host.paths(), ["a.txt", "b.txt"], "one came back");
  rmSync(nvim.path("a.txt"));
  await host.until(t, () => host.paths(), ["b.txt"], "the active one was deleted");
  t.equal(host.active(), undefined, "and none is active");
  rmSync(nvim.path("."), { recursive: true });
  await host.until(t, () => host.paths(), [], "the folder was deleted");
});

t.test("a path is shared as the user typed it", async (t) => {
  const { host, nvim } = await startContext(t, { files, args: ["a.txt"] });
  symlinkSync("dir", nvim.path("link"));
  symlinkSync("b.txt", nvim.path("b-link.txt"));
  mkdirSync(nvim.path("other"));
  await nvim.command("edit link/d.txt");
  await host.until(t, () => host.active()?.path, nvim.path("link/d.txt"), "through a link to a folder");
  await nvim.command("cd other");
  await nvim.command("edit ../b-link.txt");
  await host.until(t, () => host.paths(), ["b-link.txt", "link/d.txt", "a.txt"], "also after :cd");
  await nvim.command("cd .. | edit ././/./c.txt");
  await host.until(t, () => host.active()?.path, nvim.path("c.txt"), "with dots");
  await nvim.command("set autochdir | edit dir/../dir/d.txt");
  await host.until(t, () => host.paths().includes("dir/../dir/d.txt"), false, "no dots in it");
});

t.test("files with unusual names are listed in the context", async (t) => {
  const names = ["a b.txt", "100%.txt", "日本.txt", "c:d.txt", "#1.txt", "[x].txt"];
  const { host } = await startContext(t, { files: Object.fromEntries(names.map((name) => [name, "x\n"])) });
  for (const name of names) await host.nvim.lua("vim.cmd.edit(vim.fn.fnameescape(...))", name);
  await host.until(t, () => host.paths(), [...names].reverse(), "all of them");
});

t.test("a restored session lists files that were never entered", async (t) => {
  const many = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`f${index}.txt`, "x\n"]));
  const session = [...Object.keys(many).map((name) => `badd +1 ${name}`), "edit f7.txt"].join("\n");
  const { host } = await startContext(t, {
    files: { ...many, "Session.vim": session },
    args: ["-S", "Session.vim"],
  });
  await host.until(t, () => host.active()?.path, host.nvim.path("f7.txt"), "the one that is shown");
  await host.until(t, () => host.paths().slice(0, 3), ["f7.txt", "f0.txt", "f1.txt"], "then the others");
  t.equal(host.files().length, 10);
});

t.test("a thousand buffers are handled in slices", async (t) => {
  const names = Array.from({ length: 1000 }, (_, index) => `f${index}.txt`);
  const { host } = await startContext(t, {
    files: Object.fromEntries(names.map((name) => [name, "x\n"])),
    args: ["f0.txt"],
    init: "for i = 0, 999 do vim.cmd('badd f' .. i .. '.txt') end",
  });
  await host.nvim.command("edit f500.txt");
  await host.until(t, () => host.paths().slice(0, 2), ["f500.txt", "f0.txt"], "the last two focused");
  const before = host.snapshots.length;
  await host.nvim.command("edit f900.txt");
  await host.until(t, () => host.paths()[0], "f900.txt", "one more");
  const sent = host.snapshots.slice(before).flatMap(({ value }) => value.buffers);
  t.ok(sent.length <= 2, "only what has changed is sent");
});

const TWELVE = Array.from({ length: 12 }, (_, index) => `f${index}.txt`);
const twelveFiles = Object.fromEntries(TWELVE.map((name) => [name, "x\n"]));
const newest = [...TWELVE].reverse();

/** Returns the memory that Lua uses (KB). */
async function memory(host: ContextHost): Promise<number> {
  return z
    .number()
    .parse(await host.nvim.lua("collectgarbage() collectgarbage() return collectgarbage('count')"));
}

/** Limit for the growth of Lua's memory (KB). In this test, only a table without a size limit exceeds this limit. */
const MUCH = 400;

t.test("the focus history stays small during days without a CLI", async (t) => {
  const { host, nvim } = await startContext(t, { files: twelveFiles, connected: false });
  // Closes windows without autocommands. The autocommands would remove the entries of these windows.
  const rounds = `
    for _ = 1, ... do
      vim.cmd.split('f1.txt')
      vim.cmd('noautocmd close')
    end`;
  for (const name of TWELVE) await nvim.command(`edit ${name}`);
  for (let i = 0; i < 5; i++) await nvim.lua(rounds, 500);
  const before = await memory(host);
  for (let i = 0; i < 10; i++) await nvim.lua(rounds, 500);
  const grown = (await memory(host)) - before;
  t.ok(grown < MUCH, `${Math.round(grown)} KB more`);
  await host.subscribe();
  await host.until(t, () => host.paths(), newest.slice(0, 10), "the last files, in the order of focus");
});

t.test("buffers deleted without an autocommand do not displace files", async (t) => {
  const { host } = await startContext(t, { files: twelveFiles });
  await host.subscribe({ debounce: 5 });
  const { nvim } = host;
  for (const name of TWELVE) await nvim.command(`edit ${name}`);
  for (let round = 0; round < 6; round++) {
    const before = host.snapshots.length;
    await nvim.lua(`
      local file = vim.api.nvim_get_current_buf()
      for _ = 1, 250 do
        vim.cmd('noautocmd let g:new = nvim_create_buf(v:true, v:false)')
        vim.cmd.buffer(vim.g.new)
        vim.cmd.buffer(file)
        vim.cmd('noautocmd bwipeout! ' .. vim.g.new)
      end`);
    await nvim.waitFor(() => host.snapshots.length > before, "a snapshot");
  }
  await host.call("context_unsubscribe", {});
  await host.subscribe();
  await host.until(t, () => host.paths(), newest.slice(0, 10), "the last files, in the order of focus");
});
