// Writes doc/messages.md: all messages for users and CLIs, with the situation in which each is shown.
// usage: node scripts/messages.mjs [--check]    --check writes nothing, and fails if the list differs
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

const LIST = "doc/messages.md";

/** Matches the beginning of a call whose arguments contain a message, by language. */
const CALLS = {
  lua: /\bnotify(?:\.\w+)?\(|require\("gemini-bridge\.notify"\)\(/g,
  ts: /new Refusal\(|tell\("message", /g,
};

/** Joins strings that are split over several lines, by language. */
const JOIN = {
  lua: (text) => text.replace(/(["'])\s*\.\.\s*\1/g, ""),
  ts: (text) => text.replace(/"\s*\+\s*"/g, "").replace(/`\s*\+\s*"((?:[^"\\]|\\.)*)"/g, "$1`"),
};

/** Matches the first line of a function or of a table of messages, by language. */
const FUNCTIONS = {
  lua: /^\s*(?:local )?(?:function\b|[\w.]+ = function)|^local [A-Z_]+ = \{$/,
  ts: /^\s*(?:export )?(?:async )?(?:function (\w+)|const (\w+) = (?:async )?\(|(?!(?:if|for|while|switch|catch)\b)(\w+)(?:\([^()]*\).* \{|: (?:async )?\(.*=>)$)/,
};

/** Matches a line of a doc comment, by language. */
const COMMENTS = { lua: /^\s*---/, ts: /^\s*(?:\/\*\*|\*)/ };

/** Returns the first sentence of the doc comment above a line, or "". */
function commentAbove(lines, number, language) {
  let first = number;
  while (COMMENTS[language].test(lines[first - 1] ?? "")) first -= 1;
  return sentence(lines.slice(first, Math.max(first, number)).join("\n"));
}

/** Matches a string, by language. */
const STRINGS = {
  lua: /"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|\[\[([\s\S]*?)\]\]/g,
  ts: /"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g,
};

/**
 * Matches a string that is not a message: a level, a module name, a separator or a value. Needed for the strings in
 * calls that CALLS matches.
 */
const NO_MESSAGE = /^(gemini-bridge\..*|\w+|(<\w+>|\W)*)$/;

/**
 * Matches a string that is a message: a sentence of at least three words. Needed for the strings outside of calls that
 * CALLS matches.
 */
const SENTENCE = /^[A-Z:<…](?=\S*\s\S+\s)(?:.*[.!?]$|.*: )/;

/** Matches a line with a log entry or a description. The strings in this line and in the next line are not messages. */
const NO_SENTENCE = /\blog\.|escri(?:be\(|ption)/;

const COMMENT = /^\s*(?:--|\/\/|\/?\*)/;

/**
 * Matches the files to skip. Their sentences are not messages: help texts of options, whole screens, protocol errors,
 * and texts for the model.
 */
const NO_MESSAGES =
  /config\/options|host\/rpc|report\/|src\/(?:contract|doctor|programs|http\/errors|claude\/endpoint|model\/(?:tools|prompts|format))/;

/**
 * Returns the arguments of a call: the text up to the closing parenthesis.
 * @param from position after the opening parenthesis
 */
function argumentsAt(text, from) {
  let depth = 1;
  for (let at = from; at < text.length; at += 1) {
    const [string] =
      /^("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`)/.exec(text.slice(at, at + 2_000)) ?? [];
    if (string) at += string.length - 1;
    else if (text[at] === "(" || text[at] === "{") depth += 1;
    else if (text[at] === ")" || text[at] === "}") depth -= 1;
    if (depth === 0) return text.slice(from, at);
  }
  return "";
}

/** Returns the first sentence of a doc comment. */
function sentence(comment) {
  const words = comment
    .split("\n")
    .map((line) => line.replace(/^[\s/*-]+|\s*\*\/$/g, ""))
    .filter((line) => !line.startsWith("@"))
    .join(" ");
  return words.replace(/\. .*|\.$/s, "").trim();
}

/**
 * Returns the situation of a message: the first sentence of a doc comment. Takes the comment of the innermost function
 * around the line that has a comment. If there is none, takes the comment of the file. The comment of a method may be
 * in an interface.
 */
function situationAt(lines, at, language) {
  let indent = Number.POSITIVE_INFINITY;
  for (let number = at; number >= 0; number -= 1) {
    const line = lines[number];
    const found = line.search(/\S/);
    if (found < 0 || found >= indent) continue;
    const isEndOfParameters = line[found] === ")";
    indent = isEndOfParameters ? found + 1 : found;
    const [start, ...names] = (!isEndOfParameters && FUNCTIONS[language].exec(line)) || [];
    if (start === undefined) continue;
    const name = names.find((one) => one !== undefined);
    const declared = lines.findIndex(
      (other) => name && other.trim().startsWith(`${name}(`) && other.endsWith(";"),
    );
    const comment = commentAbove(lines, number, language) || commentAbove(lines, declared, language);
    if (comment) return comment;
  }
  return commentAbove(
    lines,
    lines.findIndex((line) => !COMMENTS[language].test(line)),
    language,
  );
}

/**
 * Returns the placeholder for a value in a message: the last name in the value's expression. For a choice between a
 * singular and a plural word, returns the plural word.
 */
function nameOf(expression) {
  const plural = /(?:\band|\?) "\w+" (?:or|:) "(\w+)"/.exec(expression);
  if (plural) return plural[1];
  const names = expression.replace(/"[^"]*"/g, "").match(/[A-Za-z_]\w*(?!\w*\()/g) ?? [];
  const name = names.filter((one) => !/^(and|or|not|nil|length|table|undefined|[A-Z_]+)$/.test(one)).at(-1);
  return name === undefined ? "…" : `<${name === "label" ? "cli" : name}>`;
}

/** Splits arguments at the commas outside of strings and parentheses. */
function splitArguments(text) {
  return text.match(/(?:"(?:[^"\\]|\\.)*"|\((?:[^()]|\([^()]*\))*\)|[^",()])+/g) ?? [];
}

/**
 * Returns a message with placeholders for its values.
 * @param at position after the string
 */
function named(string, text, from, at, language) {
  if (language === "ts") return string.replace(/\$\{((?:[^{}]|\{[^{}]*\})*)\}/g, (_, value) => nameOf(value));
  const format = /^\)?:format\(/.exec(text.slice(at, at + 20));
  const values = format ? splitArguments(argumentsAt(text, at + format[0].length)).map(nameOf) : [];
  const before = /([\w.]+(?:\([^()]*\))?)\s*\.\.\s*$/.exec(text.slice(Math.max(0, from - 80), from));
  const after = /^\s*\.\.\s*([\w.]+(?:\([^()]*\))?)/.exec(text.slice(at, at + 80));
  const whole = string.replace(/%[sdq]|%\.\df/g, () => values.shift() ?? "…");
  return `${before ? nameOf(before[1]) : ""}${whole}${after ? nameOf(after[1]) : ""}`;
}

/** Returns the messages of a file, with their situations. */
function messagesOf(path) {
  const language = path.endsWith(".lua") ? "lua" : "ts";
  const text = JOIN[language](readFileSync(path, "utf8"));
  const lines = text.split("\n");
  const calls = [...text.matchAll(CALLS[language])].map(({ index, 0: call }) => {
    const from = index + call.length;
    return { from, to: from + argumentsAt(text, from).length };
  });
  const messages = new Map();
  let start = 0;
  for (const [number, line] of lines.entries()) {
    for (const found of line.matchAll(STRINGS[language])) {
      const [whole, ...groups] = found;
      const at = start + found.index;
      const string = groups.find((group) => group !== undefined) ?? "";
      const isInCall = calls.some(({ from, to }) => from <= at && at < to);
      const message = named(string, text, at, at + whole.length, language).replace(/\s+/g, " ");
      const isMessage = isInCall
        ? !NO_MESSAGE.test(message)
        : SENTENCE.test(message) && !COMMENT.test(line) && !NO_SENTENCE.test(lines[number - 1] + line);
      if (isMessage && !messages.has(message)) messages.set(message, situationAt(lines, number, language));
    }
    start += line.length + 1;
  }
  return [...messages].map(([message, situation]) => ({ message, situation }));
}

const files = execFileSync("git", ["ls-files", "lua/*.lua", "src/*.ts", "build.lua"], { encoding: "utf8" });
const sections = files
  .trim()
  .split("\n")
  .filter((path) => !NO_MESSAGES.test(path))
  .map((path) => ({ path, messages: messagesOf(path) }))
  .filter(({ messages }) => messages.length > 0);
const list = [
  "# Messages",
  "",
  "All messages for users and CLIs, by source file. `<name>` and `…` stand for values. The sentence in parentheses says",
  "what the code around the message does. Generated by `make doc` from the sources.",
  ...sections.flatMap(({ path, messages }) => [
    "",
    `## ${path}`,
    "",
    ...messages.map(({ message, situation }) => `- "${message}"${situation && ` (${situation})`}`),
  ]),
  "",
].join("\n");
if (!process.argv.includes("--check")) writeFileSync(LIST, list);
else if (readFileSync(LIST, "utf8") !== list) {
  console.error(`${LIST} differs from the sources: run make doc`);
  process.exit(1);
}
