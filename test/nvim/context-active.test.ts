import t from "tap";
import { startContext } from "../support/context.ts";

const files = { "a.txt": "one\ntwo\nthree\n", "b.txt": "x𝄞é日y\n" };

t.test("the file that is open when a CLI connects", async (t) => {
  const host = await startContext(t, { files, args: ["a.txt"] });
  await host.until(t, () => host.paths(), ["a.txt"], "the file");
  t.match(host.active(), { path: host.nvim.path("a.txt"), cursor: { line: 1, character: 1 } });
});

t.test("the cursor counts lines from 1 and characters from 1 in UTF-16 units", async (t) => {
  const host = await startContext(t, { files, args: ["b.txt"] });
  await host.nvim.input("$");
  await host.until(t, () => host.active()?.cursor, { line: 1, character: 6 }, "the end");
});

t.test("a Visual selection", async (t) => {
  const host = await startContext(t, { files, args: ["a.txt"] });
  await host.nvim.input("lvj");
  await host.until(t, () => host.active()?.selectedText, "ne\ntw", "the selection");
  await host.nvim.input("<Esc>");
  await host.until(t, () => host.active()?.selectedText, undefined, "its end");
});
