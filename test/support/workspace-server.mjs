// A language server for tests with diagnostics of files that are not open. Publishes diagnostics of published.js, and
// returns other diagnostics in answers to `workspace/diagnostic`.
// usage: node workspace-server.mjs whole|parts|silent|failing|lying|many
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { serve } from "./lsp.mjs";

const [mode = "whole"] = process.argv.slice(2);
const MANY = 100_000;
const uriOf = (name) => pathToFileURL(join(process.cwd(), name)).href;
const problem = (message, line = 0, severity = 1, character = 0) => ({
  range: { start: { line, character }, end: { line, character: character + 1 } },
  ...{ severity, message, code: "W1" },
});
const report = (uri, items, kind = "full") => ({ uri, kind, version: null, items });

const whole = [
  report(uriOf("pulled.js"), [problem("second", 1, 2), problem("first", 0, 1, 6)]),
  report(uriOf("main.js"), [problem("older than what is open")]),
  report(uriOf("private.key"), [problem("secret")]),
  report(uriOf("same.js"), undefined, "unchanged"),
];

const NONSENSE = [null, 7, "text", [], {}, { message: "no range" }, { range: {}, message: "no place" }];
const lying = [
  ...[null, 7, "text", [], {}, report(7, []), report(uriOf("pulled.js"), "no list")],
  ...[
    "file:///etc/passwd",
    "no uri",
    "",
    "file:relative",
    "file:///%00",
    "file:///%FF",
    "https://example.com/a.js",
  ].map((uri) => report(uri, [problem("elsewhere")])),
  report(uriOf("gone.js"), [problem("gone")]),
  report(uriOf("pulled.js"), [
    ...NONSENSE,
    { range: { start: { line: -5, character: 1e300 } }, severity: 99, message: "a\nlie\u001b[31m", code: {} },
  ]),
];

const many = Array.from({ length: MANY }, (_, index) => {
  const isThere = index % 3 === 0;
  const items = [problem(`number ${index}`, index, isThere ? 1 : 2)];
  return report(uriOf(isThere ? "pulled.js" : `none-${index}.js`), items);
});

function tell(id, { partialResultToken: token }) {
  const part = (items) => send({ method: "$/progress", params: { token, value: { items } } });
  switch (mode) {
    case "silent":
      return;
    case "parts":
      part(whole.slice(0, 1));
      return part(whole.slice(1));
    case "failing":
      return send({ id, error: { code: -32603, message: "it is\nbroken" } });
    default:
      return send({ id, result: { items: { lying, many }[mode] ?? whole } });
  }
}

const send = serve(({ id, method, params }) => {
  if (method === "initialize") {
    const diagnosticProvider = { interFileDependencies: true, workspaceDiagnostics: true, identifier: "all" };
    send({ id, result: { capabilities: { textDocumentSync: 1, diagnosticProvider } } });
  } else if (method === "initialized") {
    const published = { uri: uriOf("published.js"), diagnostics: [problem("published", 0, 1, 2)] };
    send({ method: "textDocument/publishDiagnostics", params: published });
  } else if (method === "workspace/diagnostic") tell(id, params);
  else if (method === "textDocument/diagnostic") send({ id, result: { kind: "full", items: [] } });
  else if (method === "shutdown") send({ id, result: null });
  else if (method === "exit") process.exit(0);
});
