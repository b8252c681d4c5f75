import { readFileSync } from "node:fs";
import t from "tap";
import { startBridge } from "../support/bridge.ts";
import { ask, sendRaw } from "../support/server.ts";

t.test("the log contains events, but no tokens and no texts of the user", async (t) => {
  const { bridge, nvim } = await startBridge(t, {
    init: "require('gemini-bridge').setup({ log = { level = 'debug' } })",
    files: { "a.txt": "secret in the file\n" },
    args: ["a.txt"],
  });
  const { port, content, path } = bridge.file();
  const client = await bridge.client("a client");
  await client.waitForNotification("ide/contextUpdate");
  await client.openDiff(nvim.path("a.txt"), "secret in the proposal\n");
  await nvim.command("GeminiAccept");
  await client.waitForNotification("ide/diffAccepted");
  await client.openDiff(nvim.path("b.txt"), "secret in the proposal\n");
  await nvim.command("GeminiReject");
  await client.waitForNotification("ide/diffRejected");
  const secret = { authorization: "Bearer secret-guess" };
  t.equal(
    (await ask(port, { headers: secret, path: "/secret-path", body: "secret in the body" })).status,
    401,
  );
  const known = { authorization: `Bearer ${content.authToken}` };
  t.equal((await ask(port, { headers: known, body: '{"secret": "in the body"}' })).status, 400);
  await sendRaw(port, "secret nonsense\r\n\r\n");
  await client.openDiff("relative", "secret in the proposal");
  await bridge.replaceHost();
  await nvim.stopBridge();

  const log = readFileSync(
    String(await nvim.lua("return require('gemini-bridge.host.boot').log_file()")),
    "utf8",
  );
  for (const said of [
    /INFO \[\d+\] listening on port \d+/,
    new RegExp(`the discovery files were written: \\[\\s*'${path}'`),
    /DEBUG \[\d+\] connection \d+ opened/,
    /INFO \[\d+\] session [\w-]{8} of 'a client' '0\.61\.0'/,
    /session [\w-]{8}: its event stream is open/,
    /review 1 is open: '.*a\.txt'/,
    /review 1 is decided: '.*a\.txt'/,
    /the decision on review 1 was delivered/,
    /the decision on review 2 was delivered/,
    /connection \d+: POST was answered 401 .*Unauthorized/,
    /connection \d+: POST was answered 400 .*Mcp-Session-Id header is required/,
    /connection \d+ was refused: 'HPE_/,
    /a tool was refused: 'filePath must be absolute/,
    /follows a host: 1 sessions, 0 reviews/,
    /session [\w-]{8} ended/,
    /stopped/,
  ])
    t.match(log, said);
  t.notMatch(log, /secret/);
  t.notMatch(log, content.authToken);
});

t.test("events in Lua are written to the log", async (t) => {
  const { nvim } = await startBridge(t);
  await nvim.lua(
    "require('gemini-bridge.bridge.channel').notify('log', { level = 'warn', text = 'files are polled' })",
  );
  const path = String(await nvim.lua("return require('gemini-bridge.host.boot').log_file()"));
  await nvim.waitFor(() => /WARN \[\d+\] files are polled/.test(readFileSync(path, "utf8")), "the line");
});
