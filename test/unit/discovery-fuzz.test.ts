/** Tests the cleanup of directories with any content. Only files of dead Neovims of this user may be removed. */
import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import fc from "fast-check";
import t from "tap";
import { createDiscoveryFile } from "../../src/discovery/file.ts";
import { cleanUpDiscovery } from "../../src/discovery/remove-leftovers-at-start.ts";
import { GEMINI } from "../../src/profiles/profiles.ts";
import { anyString, fuzz } from "../support/fuzz.ts";
import { listenOn } from "../support/listen.ts";
import { announcement, temporary } from "../support/temporary.ts";

/** A process id above the maximum of Linux and macOS. */
const DEAD = 2 ** 22 + 1;

interface Entry {
  name: string;
  content: string;
  kind: "file" | "directory" | "link";
  /** True if a dead Neovim of this user has left the file. */
  leftover: boolean;
}

const entries = (live: number): fc.Arbitrary<Entry[]> => {
  const pid = fc.constantFrom(DEAD, DEAD + 7, process.pid, 0, 1);
  const port = fc.constantFrom(1, live, 0, 65_536, 99_999);
  const draft = fc.boolean();
  const ide = fc.constantFrom("neovim", "neovim", "neovim", "vscode", "Neovim", "", null);
  const kind = fc.constantFrom("file", "file", "file", "file", "directory", "link") as fc.Arbitrary<
    Entry["kind"]
  >;
  const ours = fc.record({ pid, port, draft, ide, kind }).map(({ pid, port, draft, ide, kind }): Entry => {
    const name = `gemini-ide-server-${pid}-${port}.json`;
    const dead = pid >= DEAD && port !== live;
    return {
      name: draft ? `.${name}.tmp` : name,
      content: JSON.stringify({ port, workspacePath: "/", authToken: "x", ideInfo: { name: ide } }),
      kind,
      leftover: kind === "file" && dead && (draft || ide === "neovim"),
    };
  });
  const other = fc.record({
    name: fc.oneof(
      fc
        .stringMatching(/^[\w.-]{1,30}$/)
        .filter((name) => !/^\.{1,2}$/.test(name) && !name.includes("gemini-ide-server")),
      fc.constantFrom(
        "gemini-ide-server-1.json",
        `gemini-ide-server-${DEAD}-1.json~`,
        `gemini-ide-server--${DEAD}-1.json`,
      ),
    ),
    content: fc.oneof(fc.json(), anyString(), fc.constant('{"ideInfo":{"name":"neovim"}}')),
    kind,
    leftover: fc.constant(false),
  });
  const broken = anyString().map(
    (content): Entry => ({
      name: `gemini-ide-server-${DEAD + 9}-1.json`,
      content,
      kind: "file",
      leftover: false,
    }),
  );
  return fc.uniqueArray(fc.oneof(ours, ours, other, broken), {
    selector: ({ name }) => name.toLowerCase(),
    maxLength: 12,
  });
};

t.test("the cleanup handles directories with any content", { timeout: 3_600_000 }, async (t) => {
  const live = await listenOn(t, createServer());
  const base = temporary(t);
  const directory = join(base, "gemini", "ide");

  const property = fc.asyncProperty(entries(live), async (list) => {
    rmSync(join(base, "gemini"), { recursive: true, force: true });
    mkdirSync(directory, { recursive: true });
    for (const { name, content, kind } of list) {
      if (kind === "directory") mkdirSync(join(directory, name));
      else if (kind === "link") symlinkSync(join(base, "nowhere"), join(directory, name));
      else writeFileSync(join(directory, name), content);
    }
    await cleanUpDiscovery(GEMINI);
    const stay = list.filter(({ leftover }) => !leftover).map(({ name }) => name);
    const found = readdirSync(directory);
    if (found.sort().join("\n") !== stay.sort().join("\n"))
      throw new Error(`stayed: ${found}; should: ${stay}`);
    const file = createDiscoveryFile(GEMINI, announcement(process.pid + 100_000, 5));
    file.write([]);
    file.remove();
    if (readdirSync(directory).length !== stay.length)
      throw new Error("our own file stays, or took another with it");
  });
  await fc.assert(property, fuzz(t, "discovery directories", 150));
});
