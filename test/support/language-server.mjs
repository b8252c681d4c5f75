// A small language server for tests. A line that contains BAD is an error. `function name` is a symbol. References of a
// word are its occurrences in the .js files below the root.
// usage: node language-server.mjs normal|slow|late|crashing|lying|moving|stepwise [milliseconds until diagnostics are published]
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { serve } from "./lsp.mjs";

const [mode = "normal", delay = "0"] = process.argv.slice(2);
const documents = new Map();
let root = process.cwd();

/** Returns all texts of the workspace, by URI. For an open file, returns the editor's text. */
function texts() {
  const found = new Map();
  for (const name of readdirSync(root, { recursive: true }).filter((each) => each.endsWith(".js"))) {
    const uri = pathToFileURL(join(root, name)).href;
    found.set(uri, documents.get(uri) ?? readFileSync(join(root, name), "utf8"));
  }
  return found;
}

function matches(pattern) {
  return [...texts()].flatMap(([uri, text]) =>
    text.split("\n").flatMap((line, number) =>
      [...line.matchAll(pattern)].map((match) => {
        const from = match.index + (match[1] === undefined ? 0 : match[0].length - match[1].length);
        const name = match[1] ?? match[0];
        const start = { line: number, character: from };
        return { name, uri, range: { start, end: { line: number, character: from + name.length } } };
      }),
    ),
  );
}

function wordAt({ textDocument: { uri }, position: { line, character } }) {
  const text = (documents.get(uri) ?? "").split("\n")[line] ?? "";
  return [...text.matchAll(/\w+/g)].find(
    ({ index, 0: word }) => index <= character && character <= index + word.length,
  )?.[0];
}

const location = ({ uri, range }) => ({ uri, range });
const functions = () => matches(/function (\w+)/g);
const symbol = (each) => ({ name: each.name, kind: 12, location: location(each) });

/** The formatter inserts a comment here if the file is empty. */
const AT_START = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };

/** A command that creates a file. */
const RUN = { title: "Run", command: "run" };

const answers = {
  initialize({ rootUri }) {
    if (rootUri) root = fileURLToPath(rootUri);
    const capabilities = {
      textDocumentSync: { openClose: true, change: 1, save: true },
      hoverProvider: true,
      definitionProvider: true,
      referencesProvider: true,
      documentSymbolProvider: true,
      workspaceSymbolProvider: true,
      renameProvider: true,
      documentFormattingProvider: true,
      codeActionProvider: true,
      executeCommandProvider: { commands: [RUN.command] },
    };
    return { capabilities };
  },
  shutdown: () => null,
  "textDocument/hover"(params) {
    const word = wordAt(params);
    return word === undefined ? null : { contents: { kind: "markdown", value: `about **${word}**` } };
  },
  "textDocument/definition"(params) {
    const word = wordAt(params);
    return functions()
      .filter(({ name }) => name === word)
      .map(location);
  },
  "textDocument/references": (params) => matches(new RegExp(`\\b${wordAt(params)}\\b`, "g")).map(location),
  "textDocument/documentSymbol": ({ textDocument: { uri } }) =>
    functions()
      .filter((each) => each.uri === uri)
      .map(({ name, range }) => ({ name, kind: 12, range, selectionRange: range })),
  "workspace/symbol": ({ query }) =>
    functions()
      .filter(({ name }) => name.includes(query))
      .map(symbol),
  "textDocument/rename"(params) {
    const word = wordAt(params);
    if (mode === "moving") {
      const { uri } = params.textDocument;
      return { documentChanges: [{ kind: "rename", oldUri: uri, newUri: `${uri}.moved` }] };
    }
    if (mode === "stepwise") {
      // The second step refers to the text after the first step.
      const { textDocument, newName } = {
        ...params,
        textDocument: { uri: params.textDocument.uri, version: null },
      };
      const range = { start: { line: 1, character: 0 }, end: { line: 1, character: word.length } };
      return {
        documentChanges: [
          { textDocument, edits: [{ range: AT_START, newText: "// renamed\n" }] },
          { textDocument, edits: [{ range, newText: newName }] },
        ],
      };
    }
    const changes = {};
    for (const { uri, range } of matches(new RegExp(`\\b${word}\\b`, "g"))) {
      changes[uri] ??= [];
      changes[uri].push({ range, newText: params.newName });
    }
    return { changes };
  },
  "workspace/executeCommand": () => writeFileSync(join(root, "ran"), ""),
  "textDocument/formatting": ({ textDocument: { uri } }) =>
    (documents.get(uri) ?? "").split("\n").flatMap((line, number, { length }) => {
      if (line === "" && length === 2 && number === 0) return [{ range: AT_START, newText: "// empty" }];
      const blanks = / +$/.exec(line);
      if (!blanks) return [];
      const start = { line: number, character: blanks.index };
      return [{ range: { start, end: { line: number, character: line.length } }, newText: "" }];
    }),
  "textDocument/codeAction": ({ textDocument: { uri } }) =>
    (documents.get(uri) ?? "").split("\n").flatMap((line, number) => {
      const at = line.indexOf("BAD");
      if (at < 0) return [];
      const range = { start: { line: number, character: at }, end: { line: number, character: at + 3 } };
      return [
        {
          title: "Make it good",
          kind: "quickfix",
          edit: { changes: { [uri]: [{ range, newText: "GOOD" }] } },
          command: RUN,
        },
        { title: "Run a program", command: RUN },
      ];
    }),
};

/** Wrong answers of a lying server: places outside the workspace, invalid ranges, invalid types. */
const lies = [
  { uri: "file:///etc/passwd", range: { start: { line: 0, character: 0 }, end: { line: 0, character: 1 } } },
  { uri: pathToFileURL(join(root, "secret.env")).href, range: { start: { line: 0, character: 0 }, end: {} } },
  { uri: 7, range: null },
  { uri: "no uri", range: { start: { line: -1, character: 1e9 } } },
  null,
  "text",
];

function publish(uri) {
  const diagnostics = (documents.get(uri) ?? "").split("\n").flatMap((line, number) =>
    [...line.matchAll(/BAD/g)].map(({ index }) => {
      const range = {
        start: { line: number, character: index },
        end: { line: number, character: index + 3 },
      };
      return { range, severity: 1, message: "this is\nBAD", code: "E1", source: "test" };
    }),
  );
  setTimeout(
    () => send({ method: "textDocument/publishDiagnostics", params: { uri, diagnostics } }),
    Number(delay),
  );
}

/** Answers that a late server holds back until a file was saved. */
const held = [];

function receive({ id, method, params }) {
  if (method === "textDocument/didOpen") documents.set(params.textDocument.uri, params.textDocument.text);
  if (method === "textDocument/didChange")
    documents.set(params.textDocument.uri, params.contentChanges[0].text);
  if (method === "textDocument/didOpen" || method === "textDocument/didChange")
    publish(params.textDocument.uri);
  if (method === "textDocument/didSave") for (const answer of held.splice(0)) answer();
  if (method === "exit") process.exit(0);
  if (id === undefined || method === undefined) return;
  const isAsked = method !== "initialize" && method !== "shutdown";
  if (isAsked && mode === "slow") return;
  if (isAsked && mode === "crashing") process.exit(1);
  const result = isAsked && mode === "lying" ? lies : answers[method]?.(params);
  if (mode === "late" && /rename|formatting/.test(method)) return void held.push(() => send({ id, result }));
  send(result === undefined ? { id, error: { code: -32601, message: `no ${method}` } } : { id, result });
}

const send = serve(receive);
