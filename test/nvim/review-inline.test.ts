import t, { type Test } from "tap";
import { z } from "zod";
import { shareNvim } from "../support/reset.ts";
import { type Reviewer, startReviewer } from "../support/review.ts";

shareNvim(t);

const FILE = "one\ntwo\nthree\nfour\nfive\n";
const PROPOSED = "1\ntwo\nthree\nfive\nsix\n";
const SCREEN = `vim.cmd('redraw!')
return vim.tbl_map(function(row)
  return (vim.fn.join(vim.tbl_map(function(column) return vim.fn.screenstring(row, column) end,
    vim.fn.range(1, vim.o.columns)), ''):gsub('%s+$', ''))
end, vim.fn.range(1, vim.o.lines))`;

async function start(t: Test, layout: string, args = ["b.txt"], columns = 90, init = "") {
  const { reviewer } = await startReviewer(t, {
    files: { "a.txt": FILE, "b.txt": "b\n" },
    args,
    init: `vim.o.columns = ${columns} require('gemini-bridge').setup({ diff = { layout = '${layout}' } }) ${init}`,
  });
  return reviewer;
}

async function screen(reviewer: Reviewer): Promise<string> {
  return z
    .array(z.string())
    .parse(await reviewer.nvim.lua(SCREEN))
    .join("\n");
}

for (const args of [["b.txt"], ["a.txt"]]) {
  t.test(`the inline layout shows added and removed lines in one window, ${args[0]} open`, async (t) => {
    const reviewer = await start(t, "inline", args);
    const { nvim } = reviewer;
    const before = await reviewer.layout();
    const id = await reviewer.open(nvim.path("a.txt"), PROPOSED);
    await reviewer.review();
    t.equal(await nvim.lua("return #vim.api.nvim_list_wins()"), 2, "the user's window and one of ours");
    t.match(await screen(reviewer), /one\s+1\s+two\s+three\s+four\s+five\s+six/, "removed lines above");
    t.notMatch(
      await nvim.lua("return vim.iter(vim.api.nvim_list_wins()):any(function(w) return vim.wo[w].diff end)"),
      true,
    );
    await nvim.input("2Gcc2<Esc>");
    await nvim.waitFor(
      async () => /two\s+1\s+2\s+three|two\s+2\s+three/.test(await screen(reviewer)),
      "the edit as a hunk",
    );
    await nvim.input(":w<CR>");
    t.same(await reviewer.outcome(), {
      name: "diff_accepted",
      payload: { id, content: PROPOSED.replace("two", "2") },
    });
    await reviewer.outcomes();
    await reviewer.becomes(t, before);
  });
}

t.test(
  "in the inline layout, a long removal is truncated, and a removal at the first line is visible",
  async (t) => {
    const reviewer = await start(t, "inline");
    const { nvim } = reviewer;
    const lines = Array.from({ length: 500 }, (_, i) => `gone ${i}\n`).join("");
    await nvim.lua("vim.fn.writefile(vim.split((...), '\\n'), 'long.txt')", lines);
    await reviewer.open(nvim.path("long.txt"), "kept\n");
    await reviewer.review();
    t.match(await screen(reviewer), /gone \d+|more lines/);
  },
);

for (const layout of ["auto", "inline", "tab", "horizontal"]) {
  t.test(`a proposal for a new file is shown in one window: ${layout}`, async (t) => {
    const reviewer = await start(t, layout);
    const { nvim } = reviewer;
    const before = await reviewer.layout();
    for (const end of ["GeminiAccept", "GeminiReject"]) {
      const id = await reviewer.open(nvim.path("deep/new.txt"), "new\nfile\n");
      const [win] = await reviewer.proposals();
      t.match(await nvim.lua("return vim.wo[...].winbar", win), /new file/);
      t.equal(await nvim.lua("return vim.wo[...].diff", win), false);
      t.equal(await nvim.lua("return #vim.api.nvim_list_wins()"), 2);
      await nvim.command(end);
      t.equal((await reviewer.outcome()).payload.id, id);
      await reviewer.outcomes();
      await reviewer.becomes(t, before);
    }
  });
}

t.test("the winbar of a review shortens the path first, and then leaves out key hints", async (t) => {
  const reviewer = await start(t, "vertical", ["b.txt"], 160);
  const { nvim } = reviewer;
  const path = `${"a-long-folder-name/".repeat(4)}a.txt`;
  await reviewer.open(nvim.path(path), "x\n");
  for (const columns of [160, 150, 140]) {
    await nvim.lua("vim.o.columns = ...", columns);
    await nvim.command("wincmd =");
    await nvim.waitFor(
      async () => /Proposal for \S+.*:w accepts, :q rejects, g\? keys/.test(await screen(reviewer)),
      `how to accept at ${columns} columns`,
    );
  }
  t.match(await screen(reviewer), /…\/(a-long-folder-name\/)*a\.txt/);

  const parts = [/Proposal for /, / · new file/, / · :w accepts/, /, :q rejects/, /, g\? keys/];
  const whole = new RegExp(
    `^ ${parts
      .map((part) => `(${part.source})?`)
      .join("")
      .replace("?", "?\\S+")} *$`,
  );
  const shown = new Set<string>();
  for (let columns = 140; columns >= 50; columns -= 2) {
    await nvim.lua("vim.o.columns = ...", columns);
    await nvim.command("wincmd =");
    const bar = z
      .string()
      .parse(
        await nvim.lua(
          "return vim.api.nvim_eval_statusline(vim.wo[...].winbar, { winid = ..., use_winbar = true }).str",
          (await reviewer.proposals())[0],
        ),
      );
    t.match(bar, whole, `whole words at ${columns} columns`);
    shown.add(bar.trim());
  }
  t.match([...shown].at(-1), "…/a.txt · :w accepts", "how to accept stays");
});

t.test("in a small window of the inline layout, a long removal leaves room for new lines", async (t) => {
  const file = Array.from({ length: 60 }, (_, i) => `old ${i + 1}\n`);
  for (const at of [0, 20]) {
    const proposed = [...file.slice(0, at), "new 1\n", "new 2\n", "new 3\n", ...file.slice(at + 15)];
    const { reviewer } = await startReviewer(t, {
      files: { "a.txt": file.join(""), "b.txt": "b\n" },
      args: ["b.txt"],
      init: `vim.o.columns, vim.o.lines = 80, 24
        require('gemini-bridge').setup({ diff = { layout = 'inline' } })`,
    });
    await reviewer.open(reviewer.nvim.path("a.txt"), proposed.join(""));
    const shown = new RegExp(`old ${at + 14}\\s+old ${at + 15}\\s+new 1\\s+new 2\\s+new 3`);
    await reviewer.nvim.waitFor(async () => shown.test(await screen(reviewer)), `${shown}`);
  }
});

t.test("g? in a review shows the configured keys until the cursor moves", async (t) => {
  const { reviewer, nvim } = await startReviewer(t, {
    files: { "a.txt": FILE, "b.txt": "b\n" },
    args: ["b.txt"],
    init: `vim.g.maplocalleader = ' '
      require('gemini-bridge').setup({ keys = { undo = 'gX', keep = false } })`,
  });
  await reviewer.open(nvim.path("a.txt"), PROPOSED);
  await reviewer.review();
  const windows = "#vim.api.nvim_list_wins()";
  const before = await nvim.lua(`return ${windows}`);
  await nvim.input("g?");
  await nvim.waitFor(`${windows} == ${Number(before) + 1}`, "the float");
  const shown = await screen(reviewer);
  t.match(shown, /gX +Undo this hunk/);
  t.match(shown, /<Space>a +Accept the proposal/, "the local leader as it is pressed");
  t.match(shown, /\]h +Next hunk/);
  t.match(shown, /:w +Accept the proposal/);
  t.notMatch(shown, /Keep this hunk/);
  await nvim.input("j");
  await nvim.waitFor(`${windows} == ${before}`, "the float to go");
});

t.test("closed folds neither hide a proposal that is shown in one window nor block Neovim", async (t) => {
  const reviewer = await start(t, "inline", ["b.txt"], 90, "vim.o.foldmethod = 'expr' vim.o.foldexpr = '1'");
  for (const name of ["a.txt", "new.txt"]) {
    const id = await reviewer.open(reviewer.nvim.path(name), PROPOSED);
    await reviewer.nvim.waitFor(async () => /five\s+six/.test(await screen(reviewer)), name);
    await reviewer.close(id);
  }
});

for (const name of ["a.txt", "new.txt"]) {
  t.test(`windows with scrollbind and cursorbind do not move with a proposal for ${name}`, async (t) => {
    const reviewer = await start(t, "inline", ["b.txt", "-O", "c.txt"], 120);
    const { nvim } = reviewer;
    await nvim.lua(`for _, win in ipairs(vim.api.nvim_list_wins()) do
      vim.api.nvim_win_call(win, function()
        vim.api.nvim_buf_set_lines(0, 0, -1, true, vim.fn.map(vim.fn.range(200), 'string(v:val)'))
        vim.cmd("set scrollbind cursorbind")
      end)
    end`);
    await nvim.input("100Gzz");
    await nvim.command("redraw");
    const before = await reviewer.layout();
    await reviewer.open(nvim.path(name), FILE.repeat(40));
    await reviewer.review();
    await nvim.input("G");
    await nvim.command("redraw");
    t.same(await nvim.lua("return { vim.wo.scrollbind, vim.wo.cursorbind }"), [false, false]);
    const cursors = "return vim.tbl_map(vim.api.nvim_win_get_cursor, { ... })";
    const windows = z.array(z.object({ win: z.number() })).parse(before["windows"]);
    t.same(await nvim.lua(cursors, ...windows.map(({ win }) => win)), [
      [100, 0],
      [100, 0],
    ]);
    await nvim.command("GeminiReject");
    await reviewer.outcome();
    await reviewer.becomes(t, before);
  });
}
