import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { z } from "zod";
import { playSession, startCompat } from "../support/compat.ts";
import { root } from "../support/nvim.ts";

const Packages = z.object({ dependencies: z.record(z.string(), z.string()) });
const { dependencies } = Packages.parse(
  JSON.parse(readFileSync(join(import.meta.dirname, "package.json"), "utf8")),
);
const newest = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(join(root, "node_modules/@google/gemini-cli-core/package.json"), "utf8")));

/** Tested releases of Gemini CLI, and the folders of their packages. */
const releases = [
  ...Object.keys(dependencies).map((name) => ({
    version: name.replace("core-", ""),
    folder: join(root, ".compat/node_modules", name),
  })),
  { version: newest.version, folder: join(root, "node_modules/@google/gemini-cli-core") },
];

/** Releases that connect only to VS Code. Releases before 0.6 also send no token. */
const VSCODE_ONLY = ["0.5.5", "0.6.1"];

t.setTimeout(180_000);

t.test("the client of each tested Gemini CLI release completes a session", async (t) => {
  const nvim = await startCompat(t);
  const rows = [
    "| Gemini CLI | connects | context | accept | reject | its own prompt |",
    "|---|---|---|---|---|---|",
  ];

  for (const { version, folder } of releases) {
    await t.test(version, async (t) => {
      const ide = (name: string) => join(folder, "dist/src/ide", `${name}.js`);
      const code = { name: version, modules: [ide("ide-client"), ide("ideContext")] } as const;
      const isRejected = VSCODE_ONLY.includes(version);
      await playSession(t, nvim, code, isRejected ? "no editor detected" : undefined);
      rows.push(
        isRejected
          ? `| ${version} | no, only to VS Code | | | | |`
          : `| ${version} | yes | yes | yes | yes | yes |`,
      );
    });
  }

  const table = rows.join("\n");
  t.comment(`\n${table}`);
  const works = rows.filter((row) => row.includes("| yes |")).map((row) => row.split(" ")[1]);
  t.ok(works.length >= 5, "five releases at least");
  await t.test("the documentation names the tested releases", async (t) => {
    const page = readFileSync(join(root, "doc/compatibility.md"), "utf8");
    t.ok(page.includes(table), "doc/compatibility.md has this table");
  });
});
