import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import t from "tap";
import { openWorkspace } from "../../src/model/workspace.ts";
import { createFiles } from "../../src/sharing/files.ts";
import { fuzz } from "../support/fuzz.ts";
import { temporary } from "../support/temporary.ts";

t.test("no name gives access to files outside the open directories or to excluded files", async (t) => {
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
