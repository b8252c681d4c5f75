/** Tests edits whose start was not reported by a hook, for example because no host was running. */
import { existsSync, mkdirSync, statSync } from "node:fs";
import t, { type Test } from "tap";
import { hashOfPlain } from "../../src/system/disk-text.ts";
import { CLOCK_TICK_MS } from "../../src/system/file-state.ts";
import { ChangesHost } from "../support/changes.ts";
import { waitFor } from "../support/wait.ts";

function start(t: Test) {
  const host = new ChangesHost(t);
  const ended = (name: string, texts?: object, failed = false) => {
    return host.tell({ kind: "tool_ended", tool: host.editOf(name), failed, texts });
  };
  return { host, ended };
}

t.test("an edit without a reported start is undone if the CLI's text equals the file", async (t) => {
  const { host, ended } = start(t);
  await host.tell({ kind: "turn_started", prompt: "go" });
  host.write("a.txt", "eins\nzw\u00f6lf\n", 0o640);
  await ended("a.txt", { before: "eins\nzw\u00f6lf", after: "eins\nzw\u00f6lf\n" });
  host.write("new.txt", "new\n");
  await ended("new.txt", { before: null, after: "new\n" });
  t.match(host.change("a.txt"), { status: "modified", added: 1, removed: 1, prompt: "go" });
  t.match(host.change("new.txt"), { status: "added" });
  await host.undo("a.txt");
  await host.undo("new.txt");
  t.equal(String(host.read("a.txt")), "eins\nzw\u00f6lf");
  t.equal(host.mode("a.txt"), 0o640);
  t.notOk(existsSync(host.path("new.txt")));
});

t.test("if the CLI's text does not match, the file is only listed", async (t) => {
  const { host, ended } = start(t);
  const cases: [bytes: Buffer, texts?: object][] = [
    [Buffer.from("1\r\n2\r\n"), { before: "1\n", after: "1\n2\n" }],
    [Buffer.from("\uFEFF1\n"), { before: "", after: "1\n" }],
    [Buffer.from("caf\xe9\n", "latin1"), { before: "", after: "caf\uFFFD\n" }],
    [Buffer.from("b\n"), { before: "caf\uFFFD\n", after: "b\n" }],
    [Buffer.from("written since\n"), { before: "", after: "1\n" }],
    [Buffer.from("1\n")],
  ];
  for (const [i, [bytes, texts]] of cases.entries()) {
    const name = `${i}.txt`;
    host.write(name, bytes);
    await ended(name, texts);
    t.match(host.change(name), { status: "modified", hunks: [] }, name);
    await host.undo(name);
    t.ok(host.read(name).equals(bytes));
    t.match(host.messages().at(-1), /its earlier bytes are unknown/);
    await host.keep(name);
    t.equal(host.change(name), undefined);
  }
});

t.test(
  "a told text is not believed for a file outside, or for a file that the turn has not changed",
  async (t) => {
    const { host, ended } = start(t);
    host.directories = [host.path("work")];
    mkdirSync(host.path("work"));
    const bytes = "alias ls='ls -F'\n";
    host.write("work/untouched.sh", bytes);
    const { ctimeMs } = statSync(host.path("work/untouched.sh"));
    await waitFor(() => Date.now() > ctimeMs + CLOCK_TICK_MS + 1, "a time after the file's time");
    await host.tell({ kind: "turn_started", prompt: "go" });
    host.write(".bashrc", bytes);
    for (const name of [".bashrc", "work/untouched.sh"])
      for (const before of [`${bytes}evil\n`, null]) {
        await ended(name, { before, after: bytes });
        t.match(
          host.change(name),
          { status: "modified", hunks: [], fixed: /earlier bytes are unknown/ },
          name,
        );
        await host.undo(name);
        t.equal(String(host.read(name)), bytes, name);
        await host.keep(name);
      }
  },
);

t.test("a failed or reviewed edit without a reported start is not listed", async (t) => {
  const { host, ended } = start(t);
  host.write("a.txt", "1\n");
  await ended("a.txt", { before: "", after: "1\n" }, true);
  host.changes.agreed(host.path("a.txt"), [hashOfPlain("1\n")]);
  await ended("a.txt", { before: "", after: "1\n" });
  t.equal(host.change("a.txt"), undefined);
});
