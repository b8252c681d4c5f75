// Writes doc/messages.md: all messages for users and CLIs, with the situation in which each is shown.
// usage: node scripts/messages.mjs [--check]    --check writes nothing, and fails if the list differs
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

const LIST = "doc/messages.md";

/** For each language, a pattern for the beginning of a call whose arguments contain a message. */
const CALLS = {
  lua: /\bnotify(?:\.\w+)?\(|require\("gemini-bridge\.notify"\)\(/g,
  ts: /new (?:Refusal|DiscoveryError)\(|tell\("message", |findings\.\w+\(/g,
};

/** Matches a finding of the doctor with its advice, if both are single strings. */
const FINDING =
  /(findings\.\w+\()\s*(["'`])((?:(?!\2)[^\\\n]|\\.)*)\2,\s*(["'`])((?:(?!\4)[^\\\n]|\\.)*)\4,?\s*\)/g;

/** Escapes the backticks in the content of a string that becomes a part of a template. */
function inTemplate(content, quote) {
  return quote === "`" ? content : content.replaceAll("`", "\\`");
}

/**
 * For each language, a function that simplifies the code of a file: it joins the parts of a message that the code
 * splits into several strings. For findings of the doctor, it also joins the finding with its advice.
 */
const JOIN = {
  lua: (text) => text.replace(/(["'])\s*\.\.\s*\1/g, ""),
  ts: (text) =>
    text
      .replace(/"\s*\+\s*"|`\s*\+\s*`/g, "")
      .replace(/`\s*\+\s*"((?:[^"\\]|\\.)*)"/g, "$1`")
      .replace(
        FINDING,
        (_, call, quote, finding, other, advice) =>
          `${call}\`${inTemplate(finding, quote)} → ${inTemplate(advice, other)}\`)`,
      ),
};

/** For each language, a pattern for the first line of a function or of a table of messages. */
const FUNCTIONS = {
  lua: /^\s*(?:local )?(?:function\b|[\w.]+ = function)|^local [A-Z_]+ = \{$/,
  ts: /^\s*(?:export )?(?:async )?(?:function (\w+)|const (\w+) = (?:async )?\(|(?!(?:if|for|while|switch|catch)\b)(\w+)(?:\([^()]*\).* \{|: (?:async )?\(.*=>)$)/,
};

/** For each language, a pattern for a line of a doc comment. */
const COMMENTS = { lua: /^\s*---/, ts: /^\s*(?:\/\*\*|\*)/ };

/** Returns the first sentence of the doc comment above a line, or "". */
function commentAbove(lines, number, language) {
  let first = number;
  while (COMMENTS[language].test(lines[first - 1] ?? "")) first -= 1;
  return sentence(lines.slice(first, Math.max(first, number)).join("\n"));
}

/** For each language, a pattern for a string. */
const STRINGS = {
  lua: /"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|\[\[([\s\S]*?)\]\]/g,
  ts: /"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g,
};

/**
 * Matches a string that is not a message: a level, a module name, a separator, a value, a Lua pattern, or a template
 * that contains another template. Applies to the strings in the calls that the
 * pattern CALLS matches, because not all of these strings are messages.
 */
const NO_MESSAGE = /^(gemini-bridge\..*|\w+|(<\w+>|\W)*|\[\^.*|.*\$\{.*)$/;

/**
 * Matches a string that is a message: a sentence of at least three words. Applies to all strings outside of these calls.
 */
const SENTENCE = /^[A-Z:<…](?=\S*\s\S+\s)(?:.*[.!?]$|.*: )/;

/** Matches a line with a log entry or a description. The strings in this line and in the next line are not messages. */
const NO_SENTENCE = /\blog\.|escri(?:be\(|ption)/;

const COMMENT = /^\s*(?:--|\/\/|\/?\*)/;

/**
 * Matches the files to skip. Their sentences are not messages: help texts of options, protocol errors, ends of
 * sentences, and texts for the model.
 */
const NO_MESSAGES =
  /config\/options|host\/rpc|small-file|src\/(?:contract|programs|http\/errors|claude\/endpoint|model\/(?:tools|prompts|format)|doctor\/(?:contract|port|report))/;

/**
 * Files in which each string of at least three words is a message or a part of a screen: `:GeminiStatus`, the doctor's
 * report, and the reasons why prompts wait.
 */
const SCREENS =
  /report\/(?:status_view|doctor|start_and_stop)|turns\/gate\.lua|extension\/link|src\/doctor\/|prompts\.ts/;
const SCREEN_TEXT = /\S \S+ \S/;

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
 * Returns the situation of a message: the first sentence of a doc comment. Searches the functions around the line from
 * the inside out, and takes the first comment that it finds. For a method without a comment, also searches the
 * interfaces of the file. If no function has a comment, takes the comment of the file.
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

/** Clearer names for values in messages. The keys are the names in the code. */
const NAMES = { label: "cli", fixed: "reason", problem: "reason", err: "error", obstacle: "reason" };

/**
 * Returns the placeholder for a value in a message: the last name in the value's expression. For a choice between a
 * singular and a plural word, returns the plural word.
 */
function nameOf(expression) {
  const plural = /(?:\band|\?) "\w+" (?:or|:) "(\w+)"/.exec(expression);
  if (plural) return plural[1];
  const names = expression.replace(/"[^"]*"/g, "").match(/[A-Za-z_]\w*(?!\w*\()/g) ?? [];
  const name = names.filter((one) => !/^(and|or|not|nil|length|table|undefined|[A-Z_]+)$/.test(one)).at(-1);
  return name === undefined ? "…" : `<${NAMES[name] ?? name}>`;
}

/** Splits arguments at the commas outside of strings and parentheses. */
function splitArguments(text) {
  return text.match(/(?:"(?:[^"\\]|\\.)*"|\((?:[^()]|\([^()]*\))*\)|[^",()])+/g) ?? [];
}

/**
/**
 * Returns the position of the arguments with which a Lua string is formatted: directly, or after it was assigned to a
 * variable. Returns undefined if the string is not formatted.
 * @param at position after the string
 */
function formatArguments(text, from, at) {
  const direct = /^\)?:format\(/.exec(text.slice(at, at + 20));
  if (direct) return at + direct[0].length;
  const [, variable] = /(\w+) =\s*$/.exec(text.slice(Math.max(0, from - 40), from)) ?? [];
  const later = variable && new RegExp(`\\b${variable}:format\\(`).exec(text.slice(at, at + 600));
  return later ? at + later.index + later[0].length : undefined;
}

/**
 * Returns a message with placeholders for its values.
 * @param at position after the string
 */
function named(string, text, from, at, language) {
  if (language === "ts")
    return string
      .replace(/\$\{((?:[^{}]|\{[^{}]*\})*)\}/g, (_, value) => nameOf(value))
      .replaceAll("\\`", "`");
  const format = formatArguments(text, from, at);
  const values = format === undefined ? [] : splitArguments(argumentsAt(text, format)).map(nameOf);
  const before = /([\w.]+(?:\([^()]*\))?)\s*\.\.\s*$/.exec(text.slice(Math.max(0, from - 80), from));
  const after = /^\s*\.\.\s*([\w.]+(?:\([^()]*\))?)/.exec(text.slice(at, at + 80));
  const whole = string.replace(/%[sdq]|%\.\df/g, () => values.shift() ?? "…");
  return `${before ? nameOf(before[1]) : ""}${whole}${after ? nameOf(after[1]) : ""}`;
}

/** Returns the messages of a file by situation. */
function messagesOf(path) {
  const language = path.endsWith(".lua") ? "lua" : "ts";
  const text = JOIN[language](readFileSync(path, "utf8"));
  const lines = text.split("\n");
  const calls = [...text.matchAll(CALLS[language])].map(({ index, 0: call }) => {
    const from = index + call.length;
    return { from, to: from + argumentsAt(text, from).length };
  });
  const isScreen = SCREENS.test(path);
  const situations = new Map();
  let start = 0;
  for (const [number, line] of lines.entries()) {
    for (const found of line.matchAll(STRINGS[language])) {
      const [whole, ...groups] = found;
      const at = start + found.index;
      const string = groups.find((group) => group !== undefined) ?? "";
      const isInCall = calls.some(({ from, to }) => from <= at && at < to);
      const message = named(string, text, at, at + whole.length, language)
        .replace(/\s+|\\n/g, " ")
        .trim();
      const isText = isScreen ? SCREEN_TEXT.test(message) : SENTENCE.test(message);
      const isMessage =
        !NO_MESSAGE.test(message) &&
        (isInCall || (isText && !COMMENT.test(line) && !NO_SENTENCE.test(lines[number - 1] + line)));
      if (!isMessage) continue;
      const situation = situationAt(lines, number, language);
      situations.set(situation, (situations.get(situation) ?? new Set()).add(message));
    }
    start += line.length + 1;
  }
  return situations;
}

const files = execFileSync("git", ["ls-files", "lua/*.lua", "src/*.ts", "build.lua"], { encoding: "utf8" });
const sections = files
  .trim()
  .split("\n")
  .filter((path) => !NO_MESSAGES.test(path))
  .map((path) => ({ path, situations: messagesOf(path) }))
  .filter(({ situations }) => situations.size > 0);
const list = [
  "# Messages",
  "",
  "All messages for users and CLIs, by source file, with the parts of the screens of `:GeminiStatus` and `:GeminiDoctor`.",
  "`<name>` and `…` stand for values. The sentence above each list says what the code around the messages does. Generated",
  "by `make doc` from the sources.",
  "",
  "Terms: the bridge is the server in Neovim to which CLIs connect, and the Node part is its program. A discovery file",
  "(Claude Code: lock file) tells a CLI the port and the token of the bridge. A proposal is an edit that a CLI asks the user",
  "to accept, and its diff in Neovim is a review. A change is an edit that a CLI made without a review, see",
  "`:GeminiChanges`. The gate makes CLIs ask before each edit, see `:GeminiGate`.",
  ...sections.flatMap(({ path, situations }) => [
    "",
    `## ${path}`,
    ...[...situations].flatMap(([situation, messages]) => [
      "",
      ...(situation ? [`${situation}:`, ""] : []),
      ...[...messages].map((message) => `- "${message}"`),
    ]),
  ]),
  "",
].join("\n");
if (!process.argv.includes("--check")) writeFileSync(LIST, list);
else if (readFileSync(LIST, "utf8") !== list) {
  console.error(`${LIST} differs from the sources: run make doc`);
  process.exit(1);
}
