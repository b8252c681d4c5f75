import { writeFileSync } from "node:fs";
import t from "tap";
import { MAX_SELECTED_TEXT } from "../../src/contract/companion.ts";
import { startContext } from "../support/context.ts";
import { shareNvim } from "../support/reset.ts";

shareNvim(t);

const texts: Record<string, { content: string | Uint8Array; length?: number; keys?: string }> = {
  "many short lines": { content: "a line of text\n".repeat(200_000) },
  "many empty lines": { content: "\n".repeat(200_000) },
  "one long line": { content: `${"x".repeat(2_000_000)}\n` },
  "characters of two bytes": { content: "é".repeat(50_000) },
  "characters of three bytes": { content: `${"日本語\n".repeat(20_000)}` },
  "characters of two units": { content: `x${"𝄞".repeat(20_000)}`, length: MAX_SELECTED_TEXT - 1 },
  "characters of several parts": { content: `${"e\u0301".repeat(20_000)}`, length: MAX_SELECTED_TEXT },
  "families of characters": { content: `xx${"👩‍👩‍👧".repeat(5_000)}`, length: 16_378 },
  "lines that end in CRLF": { content: "ab\r\n".repeat(50_000) },
  "a block of many lines": { content: "a line of text\n".repeat(100_000), keys: "gg0<C-v>Gll" },
  "a block over characters of three bytes": { content: "日本語\n".repeat(20_000), keys: "gg0<C-v>Gl" },
};

t.test(`at most ${MAX_SELECTED_TEXT} UTF-16 units of a selection are shared`, async (t) => {
  const { host } = await startContext(t);
  for (const [name, { content, length = MAX_SELECTED_TEXT, keys = "ggVG" }] of Object.entries(texts)) {
    const path = host.nvim.path(name);
    writeFileSync(path, content);
    const before = host.snapshots.length;
    await host.nvim.input(`<Esc>:edit ${name.replaceAll(" ", "\\ ")}<CR>${keys}`);
    const seen = () => [host.active()?.path, host.active()?.selectedText?.length];
    await host.until(t, seen, [path, length], name);
    const text = host.active()?.selectedText ?? "";
    if (keys === "ggVG") t.ok(String(content).replaceAll("\r", "").startsWith(text), "the beginning of it");
    t.notMatch(text, /[\uD800-\uDBFF]$/, "no half character");
    for (const { value } of host.snapshots.slice(before)) {
      t.ok((value.active?.selection?.length ?? 0) < 4 * MAX_SELECTED_TEXT, "nor much more is read");
    }
  }
});

t.test("text with invalid UTF-8 and NUL bytes is shared", async (t) => {
  const content = Uint8Array.of(0x61, 0xe9, 0x62, 0x00, 0x63, 0xed, 0xa0, 0x80, 0x0a);
  const init = "vim.o.fileencodings = 'utf-8'";
  const { host } = await startContext(t, { files: { "a.txt": content }, args: ["a.txt"], init });
  await host.nvim.input("$");
  await host.nvim.waitFor(() => (host.active()?.cursor?.character ?? 0) > 4, "the cursor");
  await host.nvim.input("0vll");
  await host.nvim.waitFor(() => host.active()?.selectedText?.startsWith("a"), "the selection");
  await host.nvim.input("$");
  await host.nvim.waitFor(() => host.active()?.selectedText?.includes("b\0c"), "the NUL");
  t.notMatch(host.active()?.selectedText, /\p{Surrogate}/u, "what is sent is well-formed");
});
