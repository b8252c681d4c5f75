import t from "tap";
import { ChangesHost } from "../support/changes.ts";
import { waitFor } from "../support/wait.ts";

t.test("undoing an agent's change of lines that the user has edited restores the user's lines", async (t) => {
  const host = new ChangesHost(t);
  host.write("a.txt", "1\r\n2\r\n3\r\n4\r\n5", 0o640);
  await host.edit("a.txt", "1\r\nA\r\n3\r\nB\r\n5");
  await host.save("a.txt", "1\r\nmine\r\n3\r\nB\r\n5");
  t.match(host.change("a.txt")?.hunks, [{ conflict: true }, { conflict: false }]);
  await host.edit("a.txt", undefined);
  t.match(host.change("a.txt"), { status: "deleted", removed: 5, hunks: [{ conflict: false }] });
  await host.close();
  const next = new ChangesHost(t, host.directory);
  await waitFor(() => next.change("a.txt"), "the change");
  t.same(next.change("a.txt"), host.change("a.txt"));
  await next.undoesTo(t, "a.txt", "1\r\nmine\r\n3\r\n4\r\n5", "the file, with the user's lines");
  t.equal(next.mode("a.txt"), 0o640);
  t.match(next.change("a.txt"), { status: "modified", hunks: [{ conflict: true }] });
  t.match(next.messages(), [/1 hunk in \S+ was not undone, because you have edited it since/]);
  await next.keep("a.txt");
  t.equal(next.change("a.txt"), undefined);

  await next.edit("new.txt", "a\nb\n");
  await next.save("new.txt", "a\nmine\n");
  await next.edit("new.txt", undefined);
  t.match(next.change("new.txt"), { status: "deleted", removed: 2 });
  await next.undoesTo(t, "new.txt", "a\nmine\n", "also of a file that the agent has made");
});
