/** Tests the answers and edits of the tools for the model: formats, permitted files, reviews, and cancelled calls. */
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import t from "tap";
import { Refusal } from "../../src/base/refusal.ts";
import type { Agent } from "../../src/contract/hooks.ts";
import type { QuestionName } from "../../src/contract/questions.ts";
import type { TurnStep } from "../../src/contract/turns.ts";
import { isBuildFile } from "../../src/model/build-files.ts";
import { editsAs } from "../../src/model/edits-as-agent.ts";
import { beginning, count, cutOff, oneLine, tally } from "../../src/model/format.ts";
import { hoverText, placesOf, symbolsOf } from "../../src/model/lsp-answers.ts";
import { type Ask, createAsking } from "../../src/model/neovim-questions.ts";
import { reviewEdits } from "../../src/model/review-edits.ts";
import { decode, encode, findSymbol } from "../../src/model/symbol-position.ts";
import type { CallContext } from "../../src/model/tool.ts";
import { openWorkspace } from "../../src/model/workspace.ts";
import { applyEdits, workspaceEdits } from "../../src/model/workspace-edit.ts";
import { createFiles } from "../../src/sharing/files.ts";
import { createTemporaryFiles } from "../../src/system/temporary-files.ts";
import { createUserFiles } from "../../src/system/user-files.ts";
import { anyString, fuzz } from "../support/fuzz.ts";
import { temporary } from "../support/temporary.ts";

t.test("lists are formatted for a model", async (t) => {
  t.equal(count(1, "error"), "1 error");
  t.equal(tally([2, 0, 1, 0]), "2 errors, 1 info");
  t.equal(tally([0, 0, 0, 0]), "no diagnostics");
  t.same(cutOff(2, 2, "…"), []);
  t.same(cutOff(2, 5, "name a path"), ["(2 of 5 shown; name a path)"]);
});

t.test("an entry of a list is one line, and not longer than requested", async () => {
  fc.assert(
    fc.property(anyString(), fc.integer({ min: 1, max: 50 }), (text, units) => {
      const line = oneLine(text, units);
      const [first = ""] = beginning(text, units).split("\n(cut off");
      return !/[\r\n]/.test(line) && line.length <= units + 1 && first.length <= units;
    }),
    fuzz(t, "lines of answers", 200),
  );
});

t.test("a symbol is found only as a whole word", async (t) => {
  t.equal(findSymbol("const names = name;", "name"), 14);
  t.equal(findSymbol("greeting.greet()", "greeting.greet"), 9);
  t.equal(findSymbol("a.b?.[c]", "[c]"), 6);
  t.equal(findSymbol("const a = 1", "b"), undefined);
  t.equal(findSymbol("übername name", "name"), 9);
  fc.assert(
    fc.property(
      fc.string({ unit: "grapheme" }),
      fc.string({ unit: "grapheme", minLength: 1 }),
      (before, symbol) => {
        const found = findSymbol(before + symbol, symbol);
        return found !== undefined && found >= 0 && found < (before + symbol).length + 1;
      },
    ),
    fuzz(t, "symbols in lines", 200),
  );
});

t.test("positions are converted from every encoding of a language server", async (t) => {
  t.equal(encode("é𝄞x", 3, "utf-8"), 6);
  t.equal(encode("é𝄞x", 3, "utf-32"), 2);
  for (const encoding of ["utf-8", "utf-16", "utf-32"])
    t.equal(decode("abc", 3000, encoding), 3000, `${encoding}: a place behind the beginning of a long line`);
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.string({ unit: "grapheme" }), (before, after) =>
      ["utf-8", "utf-16", "utf-32"].every(
        (encoding) =>
          decode(before + after, encode(before + after, before.length, encoding), encoding) === before.length,
      ),
    ),
    fuzz(t, "positions in lines", 200),
  );
});

t.test("invalid answers of a language server are dropped", async (t) => {
  const range = { start: { line: 1, character: 2 }, end: { line: 1, character: 3 } };
  t.same(
    placesOf([{ uri: "file:///a", range }, { uri: "http://a/b", range }, { uri: "file:///b" }, null, 1]),
    [{ path: "/a", line: 1, character: 2 }],
  );
  t.same(placesOf({ targetUri: "file:///a", targetSelectionRange: range }), [
    { path: "/a", line: 1, character: 2 },
  ]);
  const child = { name: "b", kind: 99, selectionRange: range };
  t.match(symbolsOf([{ name: "a", kind: 5, selectionRange: range, children: [child, {}] }], "/a"), [
    { name: "a", kind: "class", container: [] },
    { name: "b", kind: "symbol", container: ["a"] },
  ]);
  t.equal(hoverText({ contents: ["a", { language: "js", value: "b" }] }), "a\n\nb");
  fc.assert(
    fc.property(fc.anything(), (value) => {
      placesOf(value);
      symbolsOf(value, "/a");
      return typeof hoverText(value) === "string";
    }),
    fuzz(t, "edits of texts", 200),
  );
});

t.test("no file name gives access to files outside the open directories or to excluded files", async (t) => {
  const base = temporary(t);
  const root = join(base, "work");
  const second = join(base, "second");
  for (const folder of [join(root, "sub"), second]) mkdirSync(folder, { recursive: true });
  for (const path of ["work/a.js", "work/sub/b.js", "work/.env", "second/c.js", "secret.js"])
    writeFileSync(join(base, path), "");
  symlinkSync(base, join(root, "up"));
  symlinkSync(join(base, "secret.js"), join(root, "link.js"));
  symlinkSync(join(root, ".env"), join(root, "env.js"));
  symlinkSync(join(root, "a.js"), join(root, "sub/inside.js"));
  const workspace = openWorkspace(
    { paused: false, exclude: [".env*"], directories: [root, second] },
    createFiles(),
  );
  const allowed = new Set(["work/a.js", "work/sub/b.js", "second/c.js"].map((path) => join(base, path)));
  t.equal(await workspace.file("sub/inside.js"), join(root, "sub/inside.js"), "a link that stays inside");
  t.equal(await workspace.file("c.js"), join(second, "c.js"), "a file of the second directory");
  t.equal(workspace.name(join(root, "sub/b.js")), "sub/b.js");
  t.equal(workspace.name(join(second, "c.js")), join(second, "c.js"));

  const names = [
    "a.js",
    "sub",
    "b.js",
    ".env",
    "env.js",
    "link.js",
    "up",
    "work",
    "second",
    "c.js",
    "secret.js",
  ];
  const segment = fc.constantFrom(...names, "..", ".", "", "%2e%2e", "inside.js");
  const any = fc
    .tuple(fc.constantFrom("", `${base}/`, `${root}/`, "file://", "~/"), fc.array(segment, { minLength: 1 }))
    .map(([start, segments]) => start + segments.join("/"));
  const path = fc.oneof({ weight: 9, arbitrary: any }, fc.constantFrom("a.js", "sub/b.js", "sub/../a.js"));
  let found = 0;
  await fc.assert(
    fc.asyncProperty(path, async (name) => {
      const file = await workspace.file(name).catch(() => undefined);
      if (file !== undefined) found += 1;
      return file === undefined || allowed.has(realpathSync(file));
    }),
    fuzz(t, "names of files", 2_000),
  );
  t.ok(found > 10, "and some are found");
  t.same(
    [
      ...(await workspace.shared([
        join(root, "a.js"),
        join(base, "secret.js"),
        join(root, "link.js"),
        "/etc/passwd",
      ])),
    ],
    [join(root, "a.js")],
  );
});

t.test("while sharing is paused there is no workspace", async (t) => {
  t.throws(() => openWorkspace({ paused: true, exclude: [], directories: ["/"] }, createFiles()), /paused/);
});

const ask = (async () => ({ texts: [{ path: "/w/a.js", content: "a" }] })) as unknown as Ask;
const workspace = {
  file: async (path: string) => path,
  read: async () => "",
  shared: async (paths: readonly string[]) => new Set(paths),
  mayName: async () => true,
  name: (path: string) => path.slice(3),
  label: (path: string) => path.slice(3),
};
const EDITED = [{ path: "/w/a.js", steps: [] }];

function review(propose: () => Promise<"accepted">, patience?: number) {
  const never = () => Promise.reject(new Error("nothing is written"));
  const editing = { isGated: true, propose, follow: never, write: never };
  return reviewEdits(EDITED, "utf-16", { ask, editing, waitsFor: () => {}, workspace }, patience);
}

t.test("reviews stay open if the user takes longer than the client waits", async (t) => {
  // Keeps this process alive, as connections keep a host alive.
  const connection = setInterval(() => {}, 60_000);
  t.teardown(() => clearInterval(connection));
  const { text, structured } = await review(() => new Promise(() => {}), 1);
  t.match(
    text,
    "Changed and written: 0 of 1 file. Neovim writes a file only after the user has accepted the edit.\na.js: not decided yet: the review stays open",
  );
  t.same(structured, { files: [{ path: "a.js", outcome: "open" }] });
});

t.test("a review that cannot be shown is reported for its file", async (t) => {
  const { text } = await review(() => Promise.reject(new Refusal("a.js is a directory")));
  t.match(text, "a.js: not changed: a.js is a directory");
  await t.rejects(
    review(() => Promise.reject(new Error("inside"))),
    /inside/,
  );
});

const FILES = ["/w/a.js", "/w/b.js"].map((path) => ({
  path,
  steps: [[{ range: { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } }, newText: "x" }]],
}));

/** Applies edits to two files. Aborts the call when the question `abortsAt` is asked for the file `path`. */
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
      async ask(question: never, params: never) {
        const asked = params as { path?: string; file?: { path: string } };
        if (question === "finish_edit") finished.push(params);
        if (question === abortsAt && path === (asked.path ?? asked.file?.path ?? "")) controller.abort();
        await new Promise(setImmediate);
        return results[question];
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

t.test("edits of the plugin's own buffers are ignored, and edits of other buffers are refused", async (t) => {
  const range = { start: { line: 0, character: 0 }, end: { line: 0, character: 1 } };
  const edits = [{ range, newText: "b" }];
  const context = { workspace: { file: async (path: string) => path } } as unknown as CallContext;
  const rename = (uri: string) =>
    workspaceEdits({ changes: { "file:///w/a.js": edits, [uri]: edits } }, undefined, context);
  for (const uri of ["gemini://1/a.js", "gemini-original://1/a.js", "gemini-bridge://prompt"])
    t.match(await rename(uri), [{ path: "/w/a.js", steps: [edits] }]);
  await t.rejects(rename("fugitive://a.js"), /not a file/);
});

t.test("edits of a call that was cancelled before the first edit are not made", async (t) => {
  t.match(await apply("preview_edits", ""), { outcome: "AbortError", written: [], finished: [] });
});

t.test("a buffer that was edited after the cancellation of the call is restored", async (t) => {
  const { outcome, written, finished } = await apply("apply_edit", "/w/a.js");
  t.equal(outcome, "AbortError");
  t.same(written, []);
  t.same(finished, [{ path: "/w/a.js", tick: 1, written: false }]);
});

t.test("each edit by a tool belongs to its own agent", async (t) => {
  const agents: Agent[] = [];
  const following = {
    listener: ({ turn }: TurnStep) => void agents.push(turn),
    newTurn: (agent: Agent) => ({ ...agent, turn: 1, prompt: "", isSeen: true }),
    isGated: () => false,
    propose: async () => "closed" as const,
    userFiles: createUserFiles(createTemporaryFiles(temporary(t))),
  };
  const session = { credential: "gemini", id: "1" };
  for (let i = 0; i < 2; i += 1)
    await editsAs(session, following, new AbortController().signal).follow(["/w/a.js"], async () => {});
  t.equal(new Set(agents.map(({ session }) => session)).size, 2);
  t.ok(agents.every(({ cli, pid }) => cli === "gemini" && pid === process.pid));
});

t.test("edits of several files are completed once the first file is written", async (t) => {
  for (const [question, path] of [
    ["finish_edit", "/w/a.js"],
    ["apply_edit", "/w/b.js"],
  ] as const)
    t.match(await apply(question, path), { outcome: "applied", written: ["/w/a.js", "/w/b.js"] });
});

t.test("files of the build are recognized by their names", async (t) => {
  const build = [
    "package.json",
    "yarn.lock",
    "Makefile",
    "a.mk",
    "pyproject.toml",
    "requirements-dev.txt",
    "go.mod",
  ];
  for (const name of [
    ...build,
    "Dockerfile",
    "Dockerfile.dev",
    "build.gradle.kts",
    "CMakeLists.txt",
    "BUILD.bazel",
  ])
    t.equal(await isBuildFile(`/nowhere/${name}`), true, name);
  for (const name of ["a.json", "package.json.md", "Makefile.txt", "build.js", "requirements.md"])
    t.equal(await isBuildFile(`/nowhere/${name}`), false, name);
});
