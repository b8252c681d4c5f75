/** Tests attacks on the installed bridge that SECURITY.md describes. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import t from "tap";
import { startBridge } from "../support/bridge.ts";
import { connectClient } from "../support/client.ts";
import { ask, INITIALIZE, initialize, RpcError, sendRaw } from "../support/server.ts";

t.test("the built bridge refuses invalid requests", async (t) => {
  const init =
    "local limits = require('gemini-bridge.host.boot').limits limits.request_bytes, limits.clients = 65536, 2";
  const { bridge } = await startBridge(t, { init });
  const { port, content } = bridge.file();
  const token = { authorization: `Bearer ${content.authToken}` };
  const session = await initialize(port, token);
  const known = { ...token, "mcp-session-id": session };
  const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
  for (const [name, request, status] of [
    ["no token", { headers: { authorization: undefined }, body: ping }, 401],
    ["another host", { headers: { ...known, host: "evil.example" }, body: ping }, 403],
    ["an origin", { headers: { ...known, origin: "http://localhost" }, body: ping }, 403],
    ["another path", { headers: known, path: "/", body: ping }, 404],
    ["another method", { headers: known, method: "PUT", body: ping }, 405],
    ["no JSON", { headers: known, body: "{" }, 400],
    ["great depth", { headers: known, body: "[".repeat(30_000) + "]".repeat(30_000) }, 400],
    ["another type", { headers: { ...known, "content-type": "text/plain" }, body: ping }, 415],
    ["too much", { headers: known, body: "x".repeat(100_000) }, 413],
    ["no session", { headers: token, body: ping }, 400],
    ["an unknown session", { headers: { ...token, "mcp-session-id": "x" }, body: ping }, 404],
    ["a bad path", { headers: known, path: "/%ff", body: ping }, 404],
    ["a session that is served", { headers: known, body: ping }, 200],
    ["a second session", { headers: token, body: INITIALIZE }, 200],
    ["one session too many", { headers: token, body: INITIALIZE }, 503],
  ] as const) {
    const answer = await ask(port, request);
    t.equal(answer.status, status, name);
    if (status !== 200) RpcError.parse(JSON.parse(answer.body));
    t.notMatch(answer.body, /gemini-bridge\.cjs|\n\s+at |\/rplugin\//);
  }
  t.match(await sendRaw(port, "nonsense\r\n\r\n"), /^HTTP\/1\.1 400 [\s\S]*"jsonrpc":"2\.0"/);
});

t.test("the port of the bridge is reachable only from this machine", async (t) => {
  const { bridge } = await startBridge(t);
  const { port } = bridge.file();
  const others = Object.values(networkInterfaces())
    .flat()
    .filter((one) => one !== undefined && !one.internal && one.family === "IPv4");
  for (const other of others) {
    const reached = await new Promise<boolean>((resolve) => {
      const socket = connect({ host: other?.address ?? "", port, timeout: 1_000 });
      const answer = (yes: boolean) => {
        socket.destroy();
        resolve(yes);
      };
      socket
        .on("connect", () => answer(true))
        .on("error", () => answer(false))
        .on("timeout", () => answer(false));
    });
    t.notOk(reached, `${other?.address}`);
  }
  t.ok(await ask(port, { body: INITIALIZE }), "this machine can");
});

t.test("the token is in no message, no log, no status and no command line", async (t) => {
  const { bridge, nvim } = await startBridge(t, {
    init: "require('gemini-bridge').setup({ log = { level = 'debug' } })",
  });
  const token = bridge.file().content.authToken;
  t.ok(token.length >= 43, "256 bits");
  await bridge.client();
  await ask(bridge.file().port, { headers: { authorization: `Bearer ${token}` }, body: "{" });
  await bridge.replaceHost();
  const places = {
    messages: await nvim.messages(),
    log: readFileSync(String(await nvim.lua("return require('gemini-bridge.host.boot').log_file()")), "utf8"),
    status: JSON.stringify(await nvim.lua("return require('gemini-bridge').status()")),
    processes: execFileSync("ps", ["-A", "-ww", "-o", "args="], { encoding: "utf8" }),
  };
  for (const [place, text] of Object.entries(places)) t.notOk(text.includes(token), place);
  t.equal(await nvim.lua("return vim.env.GEMINI_CLI_IDE_AUTH_TOKEN"), token, "a terminal of Neovim's has it");
  await nvim.stopBridge();
  t.equal(await nvim.lua("return vim.env.GEMINI_CLI_IDE_AUTH_TOKEN"), null, "no longer than the bridge runs");
  t.same(bridge.files(), []);
});

/** Returns texts that would run a command if a program interpreted them. */
const traps = (mark: string) => [
  `x|!touch ${mark}`,
  `\`touch ${mark}\``,
  `$(touch ${mark})`,
  `%:!touch ${mark}`,
  `<C-R>=system('touch ${mark}')<CR>`,
  `+!touch ${mark}`,
  `'; touch ${mark}; '`,
];

t.test("neither a proposal nor a file name runs a command", async (t) => {
  const { bridge, nvim } = await startBridge(t, {
    init: "vim.o.modeline = true vim.o.modelineexpr = true vim.o.modelines = 5",
  });
  const mark = join(nvim.dirs.base, "pwned");
  const client = await bridge.client();
  const modelines = [
    `vim: set foldmethod=expr foldexpr=system('touch\\ ${mark}') :`,
    `vim: set statusline=%{system('touch\\ ${mark}')} :`,
    `vim: set indentexpr=system('touch\\ ${mark}') includeexpr=system('touch\\ ${mark}') :`,
  ];
  const newContent = [...modelines, ...traps(mark), ""].join("\n");
  for (const trap of traps(mark.replaceAll("/", "∕"))) {
    const name = `${trap}.lua`;
    for (const existing of [false, true]) {
      const path = nvim.path(existing ? "old" : "new", name);
      if (existing) {
        mkdirSync(nvim.path("old"), { recursive: true });
        writeFileSync(path, newContent);
      }
      t.same(await client.openDiff(path, `${newContent}${existing}\n`), { content: [] }, name);
      t.same((await bridge.status()).diffs, [{ filePath: path, client: "streamable-http-client" }]);
      await nvim.lua("require('gemini-bridge').review({ path = ... })", path);
      await nvim.command("redraw!");
      await nvim.lua("require('gemini-bridge').reject({ path = ... })", path);
      t.same(await client.waitForNotification("ide/diffRejected"), { filePath: path });
      client.received["ide/diffRejected"].length = 0;
    }
  }
  t.notOk(existsSync(mark));
  t.notOk(existsSync(nvim.path(mark.replaceAll("/", "∕"))));
  t.equal(await nvim.lua("return vim.o.foldexpr"), "0");
});

t.test("text from a client is never interpreted as code or format", async (t) => {
  const { bridge, nvim } = await startBridge(t, {
    init: `package.preload['lualine.component'] = function()
      return { extend = function(self) return setmetatable({}, { __index = self }) end }
    end`,
  });
  const { port, content } = bridge.file();
  const name = "x\u001b]0;title\u0007\n:!touch pwned\r%!system('x')%{1+1}";
  const client = await connectClient(t, { port, token: content.authToken, name });
  // With several clients, the status line shows their names.
  const code = "%{%writefile([],'pwned')%}";
  await connectClient(t, { port, token: content.authToken, name: code });
  await client.openDiff(nvim.path("a.txt"), "x\n");
  const shown = (await bridge.status()).diffs[0]?.client ?? "";
  t.notMatch(shown, /\p{Cc}/u);
  t.notMatch(await nvim.messages(), /(?!\n)\p{Cc}|\^\[|\^G/u);
  await client.closeDiff(nvim.path("a.txt"));
  const text = String(await nvim.lua("return require('gemini-bridge').statusline()"));
  t.equal(text, `Gemini: connected (${shown}, ${code})`);
  for (const line of [
    "require('lualine.components.gemini').update_status()",
    `"%{v:lua.require'gemini-bridge'.statusline()}"`,
  ])
    t.equal(await nvim.lua(`return vim.api.nvim_eval_statusline(${line}, {}).str`), text, line);
  t.notOk(existsSync(nvim.path("pwned")));
});
