/**
 * Tests random edits of one file by an agent and the user in separate places. The expected result is always known
 * exactly.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import fc from "fast-check";
import t from "tap";
import { ChangesHost } from "../support/changes.ts";
import { fuzz } from "../support/fuzz.ts";

/** One original line of the file, and the lines that replace this line. */
interface Place {
  /** "nobody": never edited. Such lines separate hunks, because adjacent hunks would be merged. */
  readonly owner: "agent" | "user" | "nobody";
  /** The lines without the undecided changes of the agent. */
  base: string[];
  now: string[];
}

/** Generates any bytes except line breaks. */
const words = fc.string({ unit: fc.constantFrom("a", "\xe9", "\xff", "\0", "\t", " ", "\r"), maxLength: 3 });
const ending = fc.constantFrom("\n", "\r\n");
const shape = fc.record({
  mark: fc.constantFrom("", "\xef\xbb\xbf"),
  hasLastBreak: fc.boolean(),
  mode: fc.constantFrom(0o644, 0o600, 0o755),
  owners: fc.array(fc.constantFrom("agent" as const, "user" as const), { minLength: 1, maxLength: 8 }),
  first: ending,
});
const step = fc.record({
  kind: fc.constantFrom("agent", "agent", "save", "write", "keep", "undo", "keep all", "undo all"),
  /** For each place or hunk: whether to choose it, and the lines to write there. */
  choices: fc.array(
    fc.record({ isMeant: fc.boolean(), lines: fc.array(fc.tuple(words, ending), { maxLength: 3 }) }),
    {
      minLength: 1,
      maxLength: 8,
    },
  ),
});
type Shape = typeof shape extends fc.Arbitrary<infer T> ? T : never;
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

class Model {
  readonly places: Place[];
  #written = 0;

  constructor(readonly shape: Shape) {
    const line = (text: string) => [`${text}${shape.first}`];
    this.places = shape.owners.flatMap((owner, i): Place[] => [
      { owner, base: line(`${owner} ${i}`), now: line(`${owner} ${i}`) },
      { owner: "nobody", base: line(`nobody ${i}`), now: line(`nobody ${i}`) },
    ]);
    // Removes the last separator, so that the file may end with an edited line. A byte order mark is part of the first
    // line, so a file with a mark starts with a separator.
    this.places.pop();
    if (shape.mark !== "")
      this.places.unshift({ owner: "nobody", base: line("nobody"), now: line("nobody") });
  }

  bytes(): Buffer {
    const { mark, hasLastBreak } = this.shape;
    const text = this.places.flatMap(({ now }, i) => {
      const isLast = i === this.places.length - 1;
      return isLast && !hasLastBreak
        ? now.map((line, k) => (k === now.length - 1 ? line.replace(/\r?\n$/, "!") : line))
        : now;
    });
    return Buffer.from(mark + text.join(""), "latin1");
  }

  /** Returns the places that the agent has changed, from top to bottom. Each place is one hunk. */
  changed(): Place[] {
    return this.places.filter(({ base, now }) => base.join() !== now.join());
  }

  edit(owner: Place["owner"], choices: Step["choices"]): void {
    for (const [i, place] of this.places.filter((one) => one.owner === owner).entries()) {
      const { isMeant = false, lines = [] } = choices[i % choices.length] ?? {};
      if (isMeant) place.now = lines.map(([text, end]) => `${++this.#written}${text}${end}`);
      if (owner === "user") place.base = place.now;
    }
  }
}

t.test("keep and undo are exact for any bytes, also if the user edits the same file", async (t) => {
  const host = new ChangesHost(t);
  let file = 0;
  const check = async (shape: Shape, steps: Step[]) => {
    const name = `${++file}.bin`;
    const model = new Model(shape);
    host.write(name, model.bytes(), shape.mode);
    for (const { kind, choices } of steps) {
      const hunks = host.change(name)?.hunks ?? [];
      const isMeant = (i: number) => kind.endsWith("all") || choices[i % choices.length]?.isMeant;
      const meant = model.changed().filter((_, i) => isMeant(i));
      const ids = kind.endsWith("all") ? undefined : hunks.filter((_, i) => isMeant(i)).map(({ id }) => id);
      if (kind === "agent") {
        model.edit("agent", choices);
        await host.edit(name, model.bytes());
      } else if (kind === "save" || kind === "write") {
        model.edit("user", choices);
        if (kind === "save") await host.save(name, model.bytes());
        else host.write(name, model.bytes());
        await host.changes.handlers.file_written({ path: host.path(name) });
      } else if (kind.startsWith("keep")) {
        for (const place of meant) place.base = place.now;
        await host.keep(name, ids);
      } else {
        for (const place of meant) place.now = place.base;
        await host.undo(name, ids);
      }
      assert.equal(host.read(name).toString("latin1"), model.bytes().toString("latin1"), kind);
      const now = host.change(name)?.hunks ?? [];
      assert.equal(now.length, model.changed().length, `the hunks after ${kind}`);
      assert.ok(!now.some(({ conflict }) => conflict));
    }
    await host.undo(name);
    for (const place of model.places) place.now = place.base;
    assert.equal(host.read(name).toString("latin1"), model.bytes().toString("latin1"), "at last");
    assert.equal(host.mode(name), shape.mode);
    assert.equal(host.change(name), undefined);
    assert.deepEqual(host.messages(), []);
  };
  await fc.assert(fc.asyncProperty(shape, fc.array(step, { maxLength: 8 }), check), fuzz(t, "places", 100));
});

t.test("no sequence of events removes a line of the user from the disk", async (t) => {
  const text = fc.array(fc.nat(5), { maxLength: 6 });
  const step = fc.tuple(
    fc.constantFrom("agent", "agent", "delete", "save", "write", "undo", "keep", "hunk"),
    text,
  );
  const host = new ChangesHost(t);
  let [file, written] = [0, 0];
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
      const name = `${++file}.txt`;
      host.write(name, "o1\r\no2\r\no3\r\no4");
      const lines = (): string[] =>
        existsSync(host.path(name)) ? (String(host.read(name)).match(/[^\n]+\n?/g) ?? []) : [];
      const mine = () => lines().filter((line) => line.startsWith("u"));
      /** The lines of the user at the last check. */
      let last: string[] = [];
      for (const [kind, places] of steps) {
        const before = lines();
        const own = mine();
        const next = [...before];
        for (const at of places) next.splice(at, at % 2, `${kind === "agent" ? "a" : "u"}${++written}\r\n`);
        if (kind === "agent") await host.edit(name, next.join(""));
        else if (kind === "delete") await host.edit(name, existsSync(host.path(name)) ? undefined : "");
        else if (kind === "save") await host.save(name, next.join(""));
        else if (kind === "write") host.write(name, next.join(""));
        else if (kind === "keep") await host.keep(name);
        else await host.undo(name, kind === "hunk" ? [host.change(name)?.hunks[0]?.id ?? 0] : undefined);
        if (kind !== "agent" && kind !== "delete" && kind !== "undo") last = mine();
        if (kind === "undo")
          t.ok(
            last.every((line) => lines().includes(line)),
            `${last.join()} are back`,
          );
        if (kind === "undo" || kind === "keep" || kind === "hunk") {
          const now = lines();
          t.ok(
            own.every((line) => now.includes(line)),
            `${kind}: ${own.join()} in ${now.join()}`,
          );
        }
      }
      await host.undo(name);
      const hunks = host.change(name)?.hunks ?? [];
      t.ok(
        hunks.every(({ conflict }) => conflict),
        "only conflicts stay",
      );
    }),
    fuzz(t, "files", 100),
  );
});
