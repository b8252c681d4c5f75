/** Tests that the order in which events arrive decides, even if earlier events are still being handled. */
import t, { type Test } from "tap";
import { hashOfPlain } from "../../src/system/disk-text.ts";
import { ChangesHost } from "../support/changes.ts";

const SHELL = { kind: "shell", name: "run_shell_command", command: "run" } as const;

/** Returns a host that is still starting: it handles no event before its start is complete. */
function starting(t: Test): ChangesHost {
  const host = new ChangesHost(t);
  for (const name of ["a.txt", "b.txt", "c.txt"]) host.write(name, "one\n");
  return host;
}

t.test("an edit right after a prompt belongs to the new turn, and its earlier text is known", async (t) => {
  const host = starting(t);
  const prompts = ["first", "second"].map((prompt) => host.tell({ kind: "turn_started", prompt }));
  await host.edit("a.txt", "two\n");
  await Promise.all(prompts);
  t.match(host.change("a.txt"), { added: 1, removed: 1, prompt: "second", fixed: undefined });
  await host.undoesTo(t, "a.txt", "one\n");
});

t.test("a text that is accepted right after a prompt is not listed when it is written", async (t) => {
  const host = starting(t);
  const prompt = host.tell({ kind: "turn_started", prompt: "go" });
  void host.tell({ kind: "permission_asked", tool: host.editOf("a.txt") });
  host.changes.agreed(host.path("a.txt"), [hashOfPlain("two\n")]);
  await prompt;
  await host.edit("a.txt", "two\n");
  await host.settle();
  t.equal(host.change("a.txt"), undefined);
});

t.test(
  "a command right after a prompt is compared when it ends, not when the prompt is handled",
  async (t) => {
    const host = starting(t);
    host.open = [host.path("c.txt")];
    const prompt = host.tell({ kind: "turn_started", prompt: "go" });
    await host.tell({ kind: "tool_starting", tool: SHELL });
    await prompt;
    host.write("c.txt", "two\n");
    await host.tell({ kind: "tool_ended", tool: SHELL, failed: false });
    await host.tell({ kind: "turn_ended" });
    t.match(host.change("c.txt"), { added: 1, removed: 1, prompt: "go" });
    t.strictSame(host.messages(), []);
  },
);
