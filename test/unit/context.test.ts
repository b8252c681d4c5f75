import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { createContext, createOpenBuffers } from "../../src/context/context.ts";
import { MAX_SELECTED_TEXT } from "../../src/contract/companion.ts";
import type { Snapshot } from "../../src/contract/neovim.ts";
import { canBeJoined, workspacePaths } from "../../src/discovery/workspace.ts";
import { createFiles } from "../../src/sharing/files.ts";
import { makeDirectory } from "../support/sandbox.ts";
import { waitFor } from "../support/wait.ts";

function folder(t: Test, ...names: string[]): (name: string) => string {
  const base = makeDirectory(t);
  for (const name of names) {
    mkdirSync(join(base, name, ".."), { recursive: true });
    writeFileSync(join(base, name), "text\n");
  }
  return (name) => join(base, name);
}

const snapshot = (change: Partial<Snapshot>): Snapshot => ({
  reset: false,
  more: false,
  buffers: [],
  focus: [],
  ...change,
});

t.test("timestamps strictly increase with focus, even if the clock does not", async (t) => {
  const path = folder(t, "a", "b", "c", "d");
  const context = createContext();
  t.teardown(() => context.close());
  const buffers = ["a", "b", "c", "d"].map((name, index) => ({ bufnr: index + 1, path: path(name) }));
  const focus = [1, 2, 3].map((bufnr) => ({ bufnr, time: 5000 }));
  context.apply(snapshot({ reset: true, buffers, focus }));
  const files = context.current().workspaceState?.openFiles ?? [];
  t.same(
    files.map(({ path, timestamp }) => [path, timestamp]),
    [
      [path("a"), 5000],
      [path("b"), 4999],
      [path("c"), 4998],
      [path("d"), 4997],
    ],
  );
});

t.test("a slice or a repeated snapshot does not change the context", async (t) => {
  const path = folder(t, "a");
  const context = createContext();
  t.teardown(() => context.close());
  const first = snapshot({ reset: true, more: true, buffers: [{ bufnr: 1, path: path("a") }] });
  t.equal(context.apply(first), undefined);
  t.same(context.current(), { workspaceState: { openFiles: [] } });
  t.ok(context.apply(snapshot({})));
  t.equal(context.apply(snapshot({})), undefined);
  t.ok(context.apply(snapshot({ reset: true })), "a new subscription forgets");
});

t.test("a selection is cut between characters", async (t) => {
  const path = folder(t, "a");
  const context = createContext();
  t.teardown(() => context.close());
  const selected = (selection: string) => {
    const active = { bufnr: 1, line: 1, character: 1, selection };
    context.apply(snapshot({ reset: true, buffers: [{ bufnr: 1, path: path("a") }], active }));
    return context.current().workspaceState?.openFiles?.[0]?.selectedText;
  };
  t.equal(selected(""), undefined);
  t.equal(selected("x".repeat(MAX_SELECTED_TEXT))?.length, MAX_SELECTED_TEXT);
  t.equal(selected("x".repeat(MAX_SELECTED_TEXT + 1))?.length, MAX_SELECTED_TEXT);
  const before = "x".repeat(MAX_SELECTED_TEXT - 1);
  t.equal(selected(`${before}𝄞`), before);
  t.equal(selected(`${before}e\u0301`), before);
  t.equal(selected(`${before.slice(3)}👩‍👩‍👧`), before.slice(3));
  t.equal(selected(`${before}\r\n`), before);
  t.equal(selected("a\ud800b"), "a\ufffdb");
});

t.test("changes on disk are reported without a snapshot", async (t) => {
  const path = folder(t, "a", "b", "sub/c");
  let changes = 0;
  const context = createContext({ changed: () => changes++ });
  t.teardown(() => context.close());
  const buffers = ["a", "b", "sub/c"].map((name, index) => ({ bufnr: index + 1, path: path(name) }));
  context.apply(snapshot({ reset: true, buffers }));
  const names = () =>
    context
      .current()
      .workspaceState?.openFiles?.map(({ path: name }) => name.slice(-1))
      .join("");
  const becomes = (wanted: string) => waitFor(() => names() === wanted, `${wanted}, not ${names()}`);
  rmSync(path("b"));
  await becomes("ac");
  rmSync(path("sub"), { recursive: true });
  await becomes("a");
  writeFileSync(path("b"), "again\n");
  await becomes("ab");
  writeFileSync(path(".geminiignore"), "a\n");
  await becomes("b");
  writeFileSync(path(".geminiignore"), "b\n");
  await becomes("a");
  t.ok(changes >= 5);
});

t.test("only regular files that are not excluded are shared", async (t) => {
  const path = folder(t, "a.txt", "dir/b.txt", "dir/.env.local", "x/secrets/k.txt", "keys/id_rsa", "Ü.PEM");
  symlinkSync("dir/.env.local", path("harmless"));
  symlinkSync("nowhere", path("dangling"));
  const names = ["a.txt", "dir", "none", "a.txt/x", "dangling", "harmless"];
  t.same(
    names.map((name) => createFiles().takeSnapshot([])(path(name))),
    ["shared", "absent", "absent", "absent", "absent", "shared"],
  );
  const excluded = (name: string, ...exclude: string[]) =>
    createFiles().takeSnapshot(exclude)(path(name)) === "excluded";
  t.ok(excluded("dir/.env.local", ".env*"));
  t.ok(excluded("harmless", ".env*"), "by its target");
  t.ok(excluded("Ü.PEM", "*.pem"), "in any case");
  t.ok(excluded("x/secrets/k.txt", "secrets/*.txt"), "at any depth");
  t.ok(excluded("x/secrets/k.txt", "secrets/"), "by its folder");
  t.ok(excluded("x/secrets/k.txt", "/**/k.txt"));
  t.ok(excluded("a.txt", path("a.txt")), "by an absolute path");
  t.notOk(excluded("dir/.env.local", ".env*", "!.env.local"), "with an exception");
  t.notOk(excluded("a.txt", "b.txt", "~/a.txt"));
  t.equal(createFiles().takeSnapshot(["~/.profile*"])(join(homedir(), ".profile-that-is-not")), "absent");
});

t.test("patterns with a leading ~/ exclude files of every home directory", (t) => {
  const path = folder(t, "home/secrets/k.txt", "h[o]me/secrets/k.txt", "hxme/secrets/k.txt");
  symlinkSync("home", path("link"));
  const { HOME } = process.env;
  t.teardown(() => {
    if (HOME === undefined) delete process.env["HOME"];
    else process.env["HOME"] = HOME;
  });
  const verdicts = (home: string, ...names: string[]) => {
    process.env["HOME"] = home;
    const verdictOf = createFiles().takeSnapshot(["~/secrets/"]);
    return names.map((name) => verdictOf(path(name)));
  };
  const names = ["home/secrets/k.txt", "link/secrets/k.txt"];
  t.same(verdicts(path("home"), ...names), ["excluded", "excluded"]);
  t.same(verdicts(path("link"), ...names), ["excluded", "excluded"], "a link");
  t.same(verdicts(`${path("home")}/`, ...names), ["excluded", "excluded"], "a trailing slash");
  t.same(
    verdicts(path("h[o]me"), "h[o]me/secrets/k.txt", "home/secrets/k.txt"),
    ["excluded", "shared"],
    "brackets",
  );
  t.end();
});

t.test("absolute patterns exclude files with and without the links in the folder of the pattern", (t) => {
  const path = folder(t, "real/dir/k.txt", "real/open.txt", "real/dir/other.txt");
  symlinkSync("real", path("link"));
  const verdicts = (patterns: string[], ...names: string[]) => {
    const verdictOf = createFiles().takeSnapshot(patterns);
    return names.map((name) => verdictOf(path(name)));
  };
  const names = ["real/dir/k.txt", "link/dir/k.txt", "real/open.txt"];
  for (const pattern of ["link/dir/", "link/dir/*.txt", "link/dir/k.txt", "link/**/k.txt", "link/d*/k.txt"])
    t.same(verdicts([path(pattern)], ...names), ["excluded", "excluded", "shared"], pattern);
  t.same(verdicts([path("link/new/k.txt")], "real/dir/k.txt"), ["shared"], "a missing folder");
  t.same(
    verdicts(["*.txt", `!${path("link/dir/")}**`], ...names),
    ["shared", "shared", "excluded"],
    "an exception",
  );
  t.same(verdicts([path("link")], "real/open.txt"), ["shared"], "the link itself is not its target");
  t.end();
});

t.test(
  "the workspace contains the open directories and their roots, except directories that cannot be listed",
  async (t) => {
    const path = folder(t, "repo/.git/HEAD", "repo/a/b/f", "tree/.git", "tree/c/f", "plain/f", "x:y/f");
    t.same(
      await workspacePaths([
        path("repo/a/b"),
        path("tree/c"),
        path("plain"),
        path("repo/a/b"),
        "",
        path("x:y"),
      ]),
      {
        open: [path("repo/a/b"), path("tree/c"), path("plain"), path("x:y")],
        listed: [path("repo/a/b"), path("tree/c"), path("plain"), path("x:y"), path("repo"), path("tree")],
      },
    );
    t.same(await workspacePaths([path("repo")]), { open: [path("repo")], listed: [path("repo")] });
    t.same([path("plain"), path("x:y")].map(canBeJoined), [true, false]);
  },
);

t.test("the last focused buffers are remembered, in whatever order they are reported", async (t) => {
  const buffers = createOpenBuffers();
  const count = 20_000;
  const numbers = Array.from({ length: count }, (_, i) => i + 1);
  // Focus times of terminals and pickers, newest first. These buffers are never listed, and their deletion is not
  // reported.
  buffers.add(
    snapshot({ focus: numbers.slice(0, count / 2).map((bufnr) => ({ bufnr, time: 1e6 - bufnr })) }),
  );
  for (const bufnr of numbers.slice(count / 2)) buffers.add(snapshot({ focus: [{ bufnr, time: bufnr }] }));
  buffers.add(snapshot({ buffers: numbers.map((bufnr) => ({ bufnr, path: `/${bufnr}` })) }));
  const focused = buffers.all().filter((buffer) => buffer.focused !== undefined);
  t.ok(focused.length <= 2_000, `${focused.length}`);
  t.same(
    focused.slice(0, 500).map(({ bufnr }) => bufnr),
    numbers.slice(0, 500),
  );
});
