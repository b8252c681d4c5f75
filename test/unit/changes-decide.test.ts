/** Tests decisions by turn and by line, and reverting the last decision. */
import { existsSync } from "node:fs";
import t from "tap";
import { ChangesHost } from "../support/changes.ts";

const turn = (host: ChangesHost, prompt: string) => host.tell({ kind: "turn_started", prompt });

t.test("undoing a turn leaves the hunks of other turns", async (t) => {
  const host = new ChangesHost(t);
  host.write("a.txt", "1\n2\n3\n4\n5\n");
  host.write("b.txt", "1\n");
  await turn(host, "first");
  await host.edit("a.txt", "A\n2\n3\n4\n5\n");
  await turn(host, "second");
  await host.edit("a.txt", "A\n2\n3\n4\nB\n");
  await host.edit("b.txt", "B\n");
  await host.edit("new.txt", "new\n");
  await host.tell({ kind: "turn_ended" });
  const report = host.told.findLast(([name]) => name === "turn_changes")?.[1];
  t.match(report, { files: 3, added: 3, removed: 2 }, "without the hunk of the first turn");
  const [first, second] = host.change("a.txt")?.hunks.map((hunk) => hunk.turn) ?? [];
  t.ok(first && second && first < second);
  t.match(host.change("a.txt"), { turn: second, prompt: "second", decided: 0 });

  await host.decideTurn("undo", second ?? 0);
  t.equal(String(host.read("a.txt")), "A\n2\n3\n4\n5\n");
  t.equal(String(host.read("b.txt")), "1\n");
  t.notOk(existsSync(host.path("new.txt")));
  t.match(host.change("a.txt"), { turn: first, prompt: "first", decided: 1, hunks: [{ turn: first }] });
  t.equal(host.message(), "Undid 3 hunks in 3 files.");

  await host.revert();
  t.equal(String(host.read("a.txt")), "A\n2\n3\n4\nB\n", "the undo of a turn is undone");
  t.equal(String(host.read("b.txt")), "B\n");
  t.equal(String(host.read("new.txt")), "new\n");
  t.match(host.change("a.txt"), { turn: second, decided: 0, hunks: [{ turn: first }, { turn: second }] });
  t.equal(host.message(), "Restored and unreviewed again: 3 hunks in 3 files.");

  await host.decideTurn("keep", first ?? 0);
  t.match(host.change("a.txt"), { decided: 1, hunks: [{ turn: second }] });
  t.match(host.change("b.txt"), { decided: 0 });
  await host.undoesTo(t, "a.txt", "A\n2\n3\n4\n5\n", "the kept hunk stays");
});

t.test("the decision on the last hunk of a file says whether the file was kept or undone", async (t) => {
  const host = new ChangesHost(t);
  for (const name of ["a.txt", "b.txt", "c.txt"]) {
    host.write(name, "1\n");
    await host.edit(name, "2\n");
  }
  await host.keep("a.txt");
  await host.undo("b.txt");
  await host.save("c.txt", "1\n");
  await host.settle();
  const last = (name: string) =>
    host.told.findLast(
      ([call, params]) => call === "change_show" && "path" in params && params.path === host.path(name),
    )?.[1];
  t.match(last("a.txt"), { change: undefined, decision: "kept" });
  t.match(last("b.txt"), { change: undefined, decision: "undone" });
  t.match(last("c.txt"), { change: undefined, decision: undefined }, "the user's own edit is no decision");
});

t.test("part of a hunk is kept or undone by its lines", async (t) => {
  const host = new ChangesHost(t);
  host.write("a.txt", "top\n1\n2\n3\nend\n");
  await host.edit("a.txt", "top\nA\nB\nC\nD\nend\n");
  await host.decideLines("undo", "a.txt", 3, 3);
  t.equal(String(host.read("a.txt")), "top\nA\n2\nC\nD\nend\n");
  t.match(host.change("a.txt"), {
    decided: 1,
    hunks: [
      { line: 2, count: 1 },
      { line: 4, count: 2 },
    ],
  });
  await host.decideLines("keep", "a.txt", 1, 2);
  t.match(host.change("a.txt"), { decided: 2, hunks: [{ line: 4, count: 2, removed: 1 }] });
  await host.undo("a.txt");
  t.equal(
    String(host.read("a.txt")),
    "top\nA\n2\n3\nend\n",
    "all old lines are back, and what was kept stays",
  );
  for (const _ of "123") await host.revert();
  t.equal(String(host.read("a.txt")), "top\nA\nB\nC\nD\nend\n");
  t.match(host.change("a.txt"), { decided: 0, hunks: [{ line: 2, count: 4, removed: 3 }] });
  await host.revert();
  t.equal(host.message(), "There is no keep or undo to revert.");
});

t.test("a decision on a hunk is refused if the user has edited the hunk since", async (t) => {
  const host = new ChangesHost(t);
  host.write("a.txt", "1\n2\n");
  await host.edit("a.txt", "1\nA\n");
  const hunks = host.change("a.txt")?.hunks.map(({ id }) => id) ?? [];
  await host.save("a.txt", "1\nmine\n");
  for (const verb of ["keep", "undo"] as const) {
    await host.changes.handlers[`changes_${verb}`]({
      files: [{ path: host.path("a.txt"), hunks }],
      unsaved: [],
    });
    t.match(host.message(), /The chosen hunks of a\.txt were decided or edited meanwhile/);
    t.match(host.change("a.txt"), { decided: 0, hunks: [{ conflict: true }] });
    host.clearMessages();
  }
});

t.test("undo by lines is refused if the file has changed since the user saw it", async (t) => {
  const host = new ChangesHost(t);
  host.write("a.txt", "1\n2\n3\n");
  await host.edit("a.txt", "1\nA\nB\nC\n3\n");
  host.write("a.txt", "mine\n1\nA\nB\nC\n3\n");
  await host.decideLines("undo", "a.txt", 2, 2);
  t.equal(String(host.read("a.txt")), "mine\n1\nA\nB\nC\n3\n");
  t.match(host.messages(), [/a\.txt has changed since you chose the lines: choose them again/]);
});

t.test(
  "reverting a decision keeps the user's own edits, and is refused over later edits of an agent",
  async (t) => {
    const host = new ChangesHost(t);
    for (const name of ["kept.txt", "undone.txt", "agent.txt"]) {
      host.write(name, "1\n2\n3\n4\n5\n");
      await host.edit(name, "1\n2\nA\n4\n5\n");
    }
    await host.keep("kept.txt");
    await host.save("kept.txt", "mine\n1\n2\nA\n4\n5\n");
    await host.revert();
    t.match(host.change("kept.txt"), { hunks: [{ line: 4, conflict: false }] });
    await host.undoesTo(t, "kept.txt", "mine\n1\n2\n3\n4\n5\n");

    await host.undo("undone.txt");
    await host.save("undone.txt", "mine\n");
    await host.revert();
    t.equal(String(host.read("undone.txt")), "mine\n");
    t.equal(host.message(), "undone.txt was not reverted, because the file has changed since your decision");

    await host.keep("agent.txt");
    await host.edit("agent.txt", "1\n2\nA\nB\n5\n");
    await host.revert();
    t.equal(host.message(), "agent.txt was not reverted, because gemini has changed it since your decision");
    t.match(host.change("agent.txt"), { hunks: [{ line: 4, count: 1 }] });
  },
);

t.test(
  "a decision that cannot be reverted while an agent edits the file can be reverted later",
  async (t) => {
    const host = new ChangesHost(t);
    for (const name of ["first.txt", "a.txt", "b.txt"]) {
      host.write(name, "1\n");
      await host.edit(name, "one\n");
    }
    await host.keep("first.txt");
    const chosen = ["a.txt", "b.txt"].map((name) => ({ path: host.path(name) }));
    await host.changes.handlers.changes_undo({ files: chosen, unsaved: [] });
    await host.starts("b.txt");
    await host.revert();
    t.match(host.message(), /unreviewed again: 1 hunk in a\.txt\. gemini is changing .*b\.txt: .* try again/);
    await host.revert();
    t.notOk(host.change("first.txt"), "an earlier decision is not reverted in its place");
    await host.ended("b.txt");
    await host.revert();
    t.equal(String(host.read("b.txt")), "one\n");
    await host.revert();
    t.match(host.change("first.txt"), { hunks: [{ line: 1 }] });
  },
);

t.test("reverting brings back deleted and created files with their mode", async (t) => {
  const host = new ChangesHost(t);
  host.write("gone.txt", "one\n", 0o640);
  await host.edit("gone.txt", undefined);
  await host.edit("new.sh", "#!/bin/sh\n");
  host.write("new.sh", "#!/bin/sh\n", 0o755);
  const files = ["gone.txt", "new.sh"].map((name) => ({ path: host.path(name) }));
  await host.changes.handlers.changes_undo({ files, unsaved: [] });
  t.equal(host.mode("gone.txt"), 0o640);
  t.notOk(existsSync(host.path("new.sh")));
  await host.revert();
  t.notOk(existsSync(host.path("gone.txt")));
  t.match(host.change("gone.txt"), { status: "deleted" });
  t.equal(host.mode("new.sh"), 0o755);
  t.match(host.change("new.sh"), { status: "added" });
});

t.test("the earlier text of a file is shown completely for a comparison", async (t) => {
  const host = new ChangesHost(t);
  const long = "x".repeat(5_000);
  host.write("a.txt", `\uFEFFcaf\u00e9\r\n${long}\n`);
  await host.edit("a.txt", "new\n");
  const { earlier_text } = host.changes.handlers;
  t.strictSame(await earlier_text({ path: host.path("a.txt") }), {
    lines: ["caf\u00e9", long],
    problem: undefined,
  });
  const unchanged = async () => earlier_text({ path: host.path("none.txt") });
  await t.rejects(unchanged, { message: "it has no undecided changes" });
});
