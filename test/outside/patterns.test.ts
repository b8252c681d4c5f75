/** Feeds long repetitions to all patterns of the sources: a hostile file, prompt or screen must not stop a process. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { Script } from "node:vm";
import t from "tap";
import type TypeScript from "typescript";
import { parseHook } from "../../src/contract/hooks.ts";
import { findSymbol } from "../../src/model/symbol-position.ts";
import { programName } from "../../src/system/processes.ts";
import { parseProcesses } from "../../src/system/unix.ts";
import { nvimBinary, root } from "../support/nvim.ts";

/** A text that consists of a beginning, a repeated part, and an end that often prevents a match. */
type Attack = readonly [before: string, repeated: string, after: string];

/** Length of an attack (characters). A pattern with quadratic cost needs billions of steps for this length. */
const LENGTH = 100_000;

const TIMEOUT_MS = 2_000;

const lengthen = ([before, repeated, after]: Attack) =>
  before + repeated.repeat(Math.ceil(LENGTH / repeated.length)) + after;

/** Attacks for a pattern with these parts. @param parts a matching text for each part */
function attacksOn(parts: readonly string[]): Attack[] {
  const attacks = new Map<string, Attack>();
  for (let at = 0; at <= parts.length; at++) {
    const before = parts.slice(0, at).join("");
    const pieces = new Set([...parts, parts.slice(at).join(""), parts.slice(at, at + 2).join(""), " ", "a"]);
    pieces.delete("");
    for (const piece of pieces)
      for (const after of ["", "\n!", " x"])
        attacks.set(JSON.stringify([before, piece, after]), [before, piece, after]);
  }
  return [...attacks.values()];
}

/** Texts for the classes of characters in regular expressions and in Lua's patterns. */
const CLASSES: Readonly<Record<string, string>> = {
  s: " ",
  S: "x",
  d: "1",
  w: "a",
  l: "a",
  u: "A",
  n: "\n",
  z: "\0",
};

/** Matches one part of a regular expression, and captures sets and single characters. */
const PART =
  /\(\?<?[=!:]|\(\?<\w+>|\{\d+,?\d*\}|[()|?*+^$]|(\[\^?\]?(?:\\.|[^\]\\])*\])|\\u([0-9a-f]{4})|\\[pP]\{[^}]*\}|\\(.)|([^\\])/gisu;

/** Texts of which one matches a set of characters. */
const TEXTS = [..." \n!/x1aA─", ...Array.from({ length: 96 }, (_, code) => String.fromCharCode(code + 32))];

/** Returns a matching text for a part that {@link PART} has found, if the part matches any characters. */
function textOf([all, set, code, escaped, plain]: RegExpMatchArray, flags: string): string | undefined {
  if (set) {
    const fits = new RegExp(set, flags.replace("g", ""));
    return TEXTS.find((text) => fits.test(text)) ?? "";
  }
  if (code) return String.fromCharCode(Number.parseInt(code, 16));
  if (escaped) return CLASSES[escaped] ?? escaped;
  if (plain) return plain === "." ? "x" : plain;
  return /^\\p/i.test(all) ? "a" : undefined;
}

/** Returns a matching text for each part of a regular expression. Alternatives count as consecutive parts. */
function partsOf(source: string, flags: string): string[] {
  return [...source.matchAll(PART)].flatMap((part) => textOf(part, flags) ?? []);
}

/** Only a pattern that repeats a part without limit can cost more than one pass over the text. */
const REPEATS = /[^\\%][*+]|\{\d+,\}|[^\\%]-/;

/** Returns the texts of all source files in a folder. */
const sourcesOf = (folder: string, ending: string) =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(ending))
    .map((name) => ({ name, text: readFileSync(join(root, folder, name), "utf8") }));

t.test("the cost of each regular expression is linear", async (t) => {
  const ts: typeof TypeScript = createRequire(import.meta.url)("typescript");
  const patterns = new Map<string, string>();
  for (const { name, text } of sourcesOf("src", ".ts")) {
    const visit = (node: TypeScript.Node): void => {
      if (ts.isRegularExpressionLiteral(node)) patterns.set(node.text, name);
      ts.forEachChild(node, visit);
    };
    visit(ts.createSourceFile(name, text, ts.ScriptTarget.Latest));
  }
  t.ok(patterns.size > 50);
  let found: RegExp | undefined;
  let subject = "";
  Object.assign(globalThis, { apply: () => found?.[Symbol.replace](subject, "") });
  const script = new Script("apply()");
  for (const [literal, name] of patterns) {
    const end = literal.lastIndexOf("/");
    const [source, flags] = [literal.slice(1, end), literal.slice(end + 1)];
    if (!REPEATS.test(source)) continue;
    found = new RegExp(source, flags);
    const slow = attacksOn(partsOf(source, flags)).find((attack) => {
      subject = lengthen(attack);
      try {
        script.runInThisContext({ timeout: TIMEOUT_MS });
        return false;
      } catch {
        return true;
      }
    });
    t.equal(slow, undefined, `${literal} in ${name}`);
  }
});

/** Applies each pattern to its attacks, and prints each pattern that needs a thousand times as long as a linear one. */
const APPLY = `
  for _, pattern in ipairs(vim.json.decode(PATTERNS)) do
    local text = assert(load('return ' .. pattern.literal))()
    for _, attack in ipairs(pattern.attacks) do
      local subject = attack[1] .. attack[2]:rep(math.ceil(${LENGTH / 5} / #attack[2])) .. attack[3]
      local start = os.clock()
      subject:find(text)
      if os.clock() - start > 0.3 then
        print(pattern.name .. ': ' .. pattern.literal .. vim.inspect(attack))
        break
      end
    end
  end`;

/** A string with a pattern as the argument of a function. The third group is set if the string is not a pattern. */
const ARGUMENT =
  /[:.](?:find|match|gmatch|gsub)\((?:[\w.]+, )?("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')(, \w+, true)?/g;

t.test("the cost of each of Lua's patterns is linear", async (t) => {
  const patterns = new Map<string, { name: string; literal: string; attacks: Attack[] }>();
  for (const { name, text } of sourcesOf("lua", ".lua"))
    for (const [, literal = "", plain] of text.matchAll(ARGUMENT)) {
      const source = literal
        .slice(1, -1)
        .replace(/\\(?:\d{1,3}|\\)/g, (code) => (code === "\\\\" ? code : "x"));
      if (plain || !REPEATS.test(source)) continue;
      // Lua's patterns use % instead of a backslash.
      const parts = partsOf(source.replace(/%f?/g, "\\").replaceAll("\\\\", "\\"), "");
      patterns.set(literal, { name, literal, attacks: attacksOn(parts) });
    }
  t.ok(patterns.size > 50);
  const data = `local PATTERNS = [==[${JSON.stringify([...patterns.values()])}]==]\n`;
  const slow = execFileSync(nvimBinary(), ["--clean", "-l", "-"], { input: data + APPLY, encoding: "utf8" });
  t.equal(slow, "");
});

t.test("a text with many repetitions is parsed", async (t) => {
  const repeated = (text: string) => lengthen(["", text, ""]);
  const prompt = `<task-notification>${repeated("<summary>")}`;
  const hook = { session_id: "1", cwd: "/", hook_event_name: "UserPromptSubmit" };
  t.match(parseHook({ ...hook, prompt }, { cli: "claude" }), { prompt, isOwn: false });
  t.match(parseHook({ ...hook, prompt: `${prompt}built</summary>` }, { cli: "claude" }), {
    prompt: "built",
    isOwn: true,
  });
  t.equal(findSymbol(`${repeated("a")} a`, "a"), repeated("a").length + 1);
  t.equal(findSymbol(repeated("a").concat(".b"), `${"a".repeat(400)}.b`), repeated("a").length - 400 + 401);
  t.equal(parseProcesses(`1 0 01:00 sh${repeated(" ")}x  \n`).get(1)?.command, `sh${repeated(" ")}x`);
  t.equal(programName(["npx", `a${repeated("@")}`]), "a");
});
