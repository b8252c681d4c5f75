import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import t from "tap";
import { z } from "zod";
import { startBridge } from "../support/bridge.ts";
import { startContext } from "../support/context.ts";
import { anyString, fuzz } from "../support/fuzz.ts";
import { startNvim } from "../support/nvim.ts";
import { shareNvim } from "../support/reset.ts";

shareNvim(t);

/** U+00FE in UTF-8. A Latin-1 decoder would convert one byte to this character. */
const THORN = "þ";
const BYTE = Buffer.of(0xfe);

/** Returns a path in the workspace. One byte of the file's name is not UTF-8. */
const odd = (workspace: string, after = "") =>
  Buffer.concat([Buffer.from(`${workspace}/`), BYTE, Buffer.from(after)]);

const EDIT = "vim.cmd.edit(vim.fn.fnameescape(...))";

t.test("a file whose path is not UTF-8 is never shared under another name", async (t) => {
  const { host, nvim } = await startContext(t, {
    files: { "a.txt": "a\n", [`${THORN}.txt`]: "another file\n" },
    args: ["a.txt"],
  });
  const { workspace } = nvim.dirs;
  writeFileSync(odd(workspace, ".txt"), "not to be told\n");
  mkdirSync(odd(workspace));
  writeFileSync(odd(workspace, "/c.txt"), "nor this\n");
  await host.until(t, () => host.paths(), ["a.txt"], "the file");
  for (const path of [odd(workspace, ".txt"), odd(workspace, "/c.txt")]) {
    const before = host.snapshots.length;
    await nvim.lua(EDIT, path);
    await nvim.input("V");
    await nvim.waitFor(() => host.snapshots.length > before, "a snapshot");
    await nvim.input("<Esc>");
  }
  await nvim.lua(EDIT, `${THORN}.txt`);
  await host.until(t, () => host.paths(), [`${THORN}.txt`, "a.txt"], "the one that can be told");
  await nvim.input("V");
  await host.until(t, () => host.active()?.selectedText, "another file", "with its own text");
  t.notMatch(JSON.stringify(host.snapshots), /not to be told|nor this|c\.txt/);
  t.equal(
    host.snapshots.flatMap(({ value }) => value.buffers).filter(({ path }) => path?.endsWith(`${THORN}.txt`))
      .length,
    1,
    "told once, of the buffer that is this file",
  );

  await nvim.lua(EDIT, odd(workspace, ".txt"));
  renameSync(odd(workspace, ".txt"), nvim.path("b.txt"));
  await nvim.command("file b.txt | silent! edit!");
  await host.until(
    t,
    () => host.active()?.path,
    nvim.path("b.txt"),
    "one that gets a name which can be told",
  );
});

t.test("a directory whose path is not UTF-8 is never announced under another name", async (t) => {
  const { bridge, nvim } = await startBridge(t, { files: { [`${THORN}/f.txt`]: "f\n" } });
  const { workspace } = nvim.dirs;
  const directory = odd(workspace);
  mkdirSync(directory);
  const listed = () => bridge.file().content.workspacePath;
  await nvim.lua("vim.cmd.split() vim.cmd.lcd(vim.fn.fnameescape(...))", directory);
  const said = async () => (await nvim.messages()).split("\n").filter((line) => /not UTF-8/.test(line));
  await nvim.waitFor(async () => (await said()).length > 0, "the message");
  // Neovim also confuses both directories when it compares them. Therefore the test enters another directory in
  // between.
  await nvim.command(`split | lcd ${workspace} | lcd ${nvim.path(THORN)}`);
  await nvim.waitFor(() => listed().includes(THORN), "the directory that can be told");
  t.equal(listed(), `${workspace}:${nvim.path(THORN)}`);
  await nvim.command("close");
  await nvim.waitFor(() => listed() === workspace, "only one to be left");
  t.equal(await nvim.lua("return vim.env.GEMINI_CLI_IDE_WORKSPACE_PATH"), workspace);
  await nvim.lua("require('gemini-bridge').setup({ workspace = { ... } })", directory);
  await nvim.lua("require('gemini-bridge').setup({ workspace = { ... } })", nvim.path(THORN));
  await nvim.waitFor(() => listed().includes(THORN), "the option");
  t.equal(listed(), `${workspace}:${nvim.path(THORN)}`);
  t.equal((await said()).length, 1, "it is said once");

  await nvim.stopBridge();
  await nvim.lua(
    "require('gemini-bridge').setup({}) vim.cmd.only() vim.cmd.cd(vim.fn.fnameescape(...))",
    directory,
  );
  await nvim.startBridge();
  t.equal(listed(), "", "nor when the bridge starts in it");
});

t.test("a prompt cannot refer to a file whose path is not UTF-8", async (t) => {
  const nvim = await startNvim(t, { init: "require('gemini-bridge').setup({ terminal = { cmd = 'cat' } })" });
  const path = odd(nvim.dirs.workspace, ".txt");
  writeFileSync(path, "x\n");
  await nvim.lua(EDIT, path);
  for (const command of ["GeminiSend what is this?", "GeminiAdd", "lua vim.cmd.GeminiAdd('\\254.txt')"]) {
    await nvim.command("messages clear");
    await nvim.command(command);
    await nvim.says(/A path that is not UTF-8 cannot be sent: .*<fe>\.txt/);
  }
  const terminals =
    "#vim.tbl_filter(function(buf) return vim.bo[buf].buftype == 'terminal' end, vim.api.nvim_list_bufs())";
  t.equal(await nvim.lua(`return ${terminals}`), 0, "and no CLI is started for it");
});

t.test("UTF-8 is validated according to the standard", async (t) => {
  const nvim = await startNvim(t);
  const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const isUtf8 = (bytes: Uint8Array) => {
    try {
      return strict.decode(bytes) !== undefined;
    } catch {
      return false;
    }
  };
  const edges = [
    0x2f, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed,
  ];
  const byte = fc.constantFrom(...edges, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff);
  const text = fc.oneof(
    fc.array(byte, { maxLength: 6 }),
    anyString().map((s) => [...Buffer.from(s)]),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(text, { minLength: 100, maxLength: 200 }), async (texts) => {
      const answers = await nvim.lua(
        "return vim.tbl_map(require('gemini-bridge.disk.path').is_utf8, ...)",
        texts.map((bytes) => Buffer.from(bytes)),
      );
      t.strictSame(
        z.array(z.boolean()).parse(answers),
        texts.map((bytes) => isUtf8(Uint8Array.from(bytes))),
      );
    }),
    fuzz(t, "byte strings", 20),
  );
});
