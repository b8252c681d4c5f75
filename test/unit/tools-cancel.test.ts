import t from "tap";
import type { QuestionName } from "../../src/contract/questions.ts";
import { createAsking } from "../../src/model/neovim-questions.ts";
import type { CallContext } from "../../src/model/tool.ts";
import { applyEdits } from "../../src/model/workspace-edit.ts";

const FILES = ["/w/a.js", "/w/b.js"].map((path) => ({
  path,
  edits: [{ range: { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } }, newText: "x" }],
}));

/** Applies edits to two files, and aborts the call when `abortsAt` is asked for this file. */
async function apply(abortsAt: QuestionName, path: string) {
  const controller = new AbortController();
  const { signal } = controller;
  const written: string[] = [];
  const finished: unknown[] = [];
  const results: Partial<Record<QuestionName, unknown>> = {
    preview_edits: { texts: [] },
    apply_edit: { tick: 1, before: "", after: "" },
    finish_edit: {},
    tell_written: {},
  };
  const asking = createAsking(
    {
      async call(_, { id, question, params }: never) {
        const asked = params as { path?: string; file?: { path: string } };
        if (question === "finish_edit") finished.push(params);
        if (question === abortsAt && path === (asked.path ?? asked.file?.path ?? "")) controller.abort();
        setImmediate(() => asking.answered({ id, result: results[question] }));
        return undefined as never;
      },
    },
    1_000,
  );
  const context = {
    ask: (question: never, params: never) => asking.ask(question, params, signal),
    signal,
    workspace: { name: (name: string) => name, label: (name: string) => name },
    editing: {
      isGated: false,
      follow: (_: readonly string[], act: () => Promise<unknown>) => act(),
      write: async (name: string) => void written.push(name),
    },
  } as unknown as CallContext;
  const outcome = await applyEdits(FILES, { encoding: "utf-16" }, context).then(
    () => "applied",
    (error: Error) => error.name,
  );
  return { outcome, written, finished };
}

t.test("edits that are cancelled before they begin are not made", async (t) => {
  t.match(await apply("preview_edits", ""), { outcome: "AbortError", written: [], finished: [] });
});

t.test("a buffer that Neovim edits after the cancellation is restored", async (t) => {
  const { outcome, written, finished } = await apply("apply_edit", "/w/a.js");
  t.equal(outcome, "AbortError");
  t.same(written, []);
  t.same(finished, [{ path: "/w/a.js", tick: 1, written: false }]);
});

t.test("edits of several files are completed once the first file is written", async (t) => {
  for (const [question, path] of [
    ["finish_edit", "/w/a.js"],
    ["apply_edit", "/w/b.js"],
  ] as const)
    t.match(await apply(question, path), { outcome: "applied", written: ["/w/a.js", "/w/b.js"] });
});
