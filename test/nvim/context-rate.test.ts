import t from "tap";
import { SUBSCRIPTION } from "../../src/context/snapshot-subscription.ts";
import { type ContextHost, startContext } from "../support/context.ts";
import { shareNvim } from "../support/reset.ts";

shareNvim(t);

const files = { "a.txt": "one\ntwo\nthree\n".repeat(100) };

/** Fires events in Neovim for some time. Waits until all events have fired. */
async function move(
  host: ContextHost,
  every: number,
  count: number,
): Promise<{ first: number; last: number }> {
  const first = performance.now();
  await host.nvim.lua(
    `local every, count = ...
    local timer, n = vim.uv.new_timer(), 0
    _G.moved = false
    timer:start(0, every, vim.schedule_wrap(function()
      n = n + 1
      if n > count then
        timer:close()
        _G.moved = true
        return
      end
      vim.api.nvim_win_set_cursor(0, { n, 0 })
      vim.api.nvim_exec_autocmds('CursorMoved', {})
    end))`,
    every,
    count,
  );
  await host.nvim.waitFor("_G.moved", "the movements");
  return { first, last: performance.now() };
}

t.test("a burst of events sends one snapshot after the debounce delay", async (t) => {
  const { host } = await startContext(t, { files, args: ["a.txt"] });
  await host.until(t, () => host.paths().length, 1, "the file");
  const before = host.snapshots.length;
  const { first } = await move(host, 1, 20);
  await host.until(t, () => host.active()?.cursor?.line, 20, "the last position");
  const sent = host.snapshots.slice(before);
  t.equal(sent.length, 1);
  t.ok((sent[0]?.at ?? 0) - first >= 50, "not before 50 ms have passed");
});

t.test("without a debounce delay, a snapshot is sent immediately after an event", async (t) => {
  const { host } = await startContext(t, { files, args: ["a.txt"] });
  await host.subscribe({ debounce: 0, maxWait: 0 });
  for (const line of [2, 3, 4]) {
    await move(host, 1, line);
    await host.until(t, () => host.active()?.cursor?.line, line, `line ${line}`);
  }
});

t.test("during constant movement of the cursor, a snapshot is sent every 250 ms", async (t) => {
  const { host } = await startContext(t, { files, args: ["a.txt"] });
  await host.subscribe({ maxWait: 240 });
  await host.until(t, () => host.paths().length, 1, "the file");
  const before = host.snapshots.length;
  const { first, last } = await move(host, 10, 150);
  const times = [first, ...host.snapshots.slice(before).map(({ at }) => at)];
  t.ok(
    times.length >= 1 + Math.floor((last - first) / 400),
    `${times.length - 1} messages in ${last - first} ms`,
  );
  t.ok(times.length <= 2 + Math.ceil((last - first) / 240), "and no more than that");
});

t.test("an unchanged context is not sent", async (t) => {
  const { host, nvim } = await startContext(t, { files, args: ["a.txt"] });
  await host.until(t, () => host.paths().length, 1, "the file");
  const contexts = host.contexts.length;
  for (const keys of ["jk", ":<Esc>", "<C-w>s<C-w>c", ":terminal<CR>:bd!<CR>"]) {
    const before = host.snapshots.length;
    await nvim.input(keys);
    await nvim.waitFor(() => host.snapshots.length > before, "a snapshot");
  }
  await nvim.input("G");
  await host.until(t, () => host.active()?.cursor?.line, 300, "a change");
  t.equal(host.contexts.length, contexts + 1);
});

t.test("without a CLI, no context is read and no subscription is left", async (t) => {
  const { host, nvim } = await startContext(t, { files, args: ["a.txt"], connected: false });
  const autocommands = "#vim.api.nvim_get_autocmds({ event = { 'CursorMoved', 'CursorMovedI' } })";
  const before = await nvim.lua(`return ${autocommands}`);
  await nvim.lua(`
    _G.reads = 0
    for _, name in ipairs({ 'nvim_buf_get_text', 'nvim_buf_get_lines', 'nvim_buf_get_name', 'nvim_list_bufs' }) do
      local real = vim.api[name]
      vim.api[name] = function(...)
        _G.reads = _G.reads + 1
        return real(...)
      end
    end`);
  await nvim.input("jjvG<Esc>");
  t.equal(await nvim.lua("return _G.reads"), 0);
  t.equal(host.snapshots.length, 0);
  await host.subscribe();
  await host.until(t, () => host.paths().length, 1, "connected");
  t.not(await nvim.lua(`return ${autocommands}`), before);
  await host.call("context_unsubscribe", {});
  await host.call("context_unsubscribe", {});
  t.equal(await nvim.lua(`return ${autocommands}`), before);
});

t.test("a thousand buffers do not block the editor", async (t) => {
  const { host } = await startContext(t, {
    files,
    args: ["a.txt"],
    connected: false,
    init: "for i = 1, 1000 do vim.cmd('badd f' .. i) end",
  });
  await host.subscribe();
  await host.until(t, () => host.paths(), ["a.txt"], "the list");
  const slices = host.snapshots.filter(({ value }) => value.more);
  t.ok(slices.length >= 15, `${slices.length} slices`);
  t.equal(host.contexts.length, 1, "and one context");
});

t.test("an event while the complete snapshot is sent causes no error after that snapshot", async (t) => {
  const { host, nvim } = await startContext(t, {
    files,
    args: ["a.txt"],
    connected: false,
    init: "for i = 1, 100 do vim.cmd('badd f' .. i) end",
  });
  await nvim.lua(
    `require("gemini-bridge.calls").call("context_subscribe", ...)
    vim.api.nvim_exec_autocmds("CursorMoved", {})`,
    { ...SUBSCRIPTION, debounce: 100 },
  );
  await host.until(t, () => host.paths(), ["a.txt"], "the list");
  await nvim.lua("vim.defer_fn(function() _G.waited = true end, 200)");
  await nvim.waitFor("_G.waited", "the end of the debounce delay");
  t.notMatch(await nvim.messages(), /attempt to/);
});
