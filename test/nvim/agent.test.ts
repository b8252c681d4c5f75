/** Tests events and activity of agents. The test simulates the CLI: connects, and sends hook events. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { z } from "zod";
import { type RunningBridge, startBridge } from "../support/bridge.ts";
import { examine } from "../support/doctor.ts";
import { shareNvim } from "../support/reset.ts";
import { connectRpc } from "../support/rpc.ts";
import { writeFiles } from "../support/sandbox.ts";
import { type Answer, ask } from "../support/server.ts";

shareNvim(t);

/** Lua that records all events of agents, oldest first. */
const EVENTS = `
_G.told = {}
vim.api.nvim_create_autocmd('User', {
  pattern = { 'GeminiTurnStarted', 'GeminiTurnEnded', 'GeminiWaiting' },
  callback = function(event)
    local clients = require('gemini-bridge').status().clients
    table.insert(_G.told, {
      name = event.match:sub(#'Gemini' + 1), data = event.data, activity = clients[1] and clients[1].activity,
    })
  end,
})`;
const Told = z.preprocess(
  (told) => (Array.isArray(told) ? told : []),
  z.array(
    z.object({ name: z.string(), data: z.record(z.string(), z.json()), activity: z.string().optional() }),
  ),
);

const WRITE = { tool_name: "write_file", tool_input: { file_path: "a.txt", content: "b\n" } };
const ASKS = { notification_type: "ToolPermission", details: { type: "edit", filePath: "/a.txt" } };

/** Lua: a CLI that has lost its connection is forgotten after a second. */
const FORGETS_FAST = "require('gemini-bridge.host.boot').limits.reconnect_ms = 1000";

let moment = 0;

/** Sends a hook event of a CLI. Default: a CLI in the process of the test. */
async function hook(bridge: RunningBridge, name: string, fields: object = {}, pid = process.pid) {
  const { port, content } = bridge.file();
  const base = { session_id: "s", cwd: bridge.nvim.dirs.workspace, timestamp: new Date(++moment) };
  const headers = { authorization: `Bearer ${content.authToken}`, host: `127.0.0.1:${port}` };
  const body = JSON.stringify({ ...base, hook_event_name: name, ...fields });
  return ask(port, { path: `/hook?pid=${pid}`, headers, body });
}

const told = async ({ nvim }: RunningBridge) => Told.parse(await nvim.lua("return _G.told"));
const names = async (bridge: RunningBridge) => (await told(bridge)).map(({ name }) => name);
const statusline = ({ nvim }: RunningBridge) => nvim.lua("return require('gemini-bridge').statusline()");

/** Waits until the only client has the given activity. */
const isDoing = ({ nvim }: RunningBridge, activity: string) =>
  nvim.waitFor(`require('gemini-bridge').status().clients[1].activity == '${activity}'`, activity);
const tells = async (bridge: RunningBridge, count: number) =>
  bridge.nvim.waitFor(async () => (await told(bridge)).length >= count, `${count} events`);

const start = (t: Test, setup = "", init = "") =>
  startBridge(t, {
    init: `${EVENTS}\nrequire('gemini-bridge').setup({ ${setup} })\n${init}`,
    files: { "a.txt": "a\n" },
  });

t.test("the turns of a connected CLI are reported", async (t) => {
  const { bridge, nvim } = await start(t, "", FORGETS_FAST);
  const client = await bridge.client();
  const [{ id } = { id: "" }] = (await bridge.status()).clients;
  await isDoing(bridge, "idle");
  t.equal(await statusline(bridge), "Gemini: connected");

  t.equal((await hook(bridge, "BeforeAgent", { prompt: "Grüße\n" })).status, 204);
  await isDoing(bridge, "working");
  t.equal(await statusline(bridge), "Gemini: working");
  const common = { cli: "gemini", id, session: "s", cwd: nvim.dirs.workspace };
  await tells(bridge, 1);
  t.same(await told(bridge), [
    { name: "TurnStarted", data: { ...common, prompt: "Grüße\n" }, activity: "working" },
  ]);

  await hook(bridge, "Notification", ASKS);
  await isDoing(bridge, "waiting");
  t.equal(await statusline(bridge), "Gemini: waits for you");
  await tells(bridge, 2);
  t.match((await told(bridge))[1], {
    name: "Waiting",
    data: { ...common, tool: { kind: "edit", filePath: "/a.txt" } },
    activity: "waiting",
  });
  await nvim.command("GeminiStatus");
  const view = String(
    await nvim.lua("return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n')"),
  );
  t.match(view, /^Clients +Gemini CLI 0\.61\.0, waits for you, connected for/m);
  await nvim.command("close");
  await hook(bridge, "AfterTool", WRITE);
  await isDoing(bridge, "working");
  await hook(bridge, "AfterAgent");
  await isDoing(bridge, "idle");
  await tells(bridge, 3);
  t.match((await told(bridge))[2], { name: "TurnEnded", data: common, activity: "idle" });

  await t.test("a rejection ends a turn, and an acceptance continues it", async () => {
    await nvim.lua("_G.told = {}");
    for (const [command, activity] of [
      ["GeminiAccept", "working"],
      ["GeminiReject", "idle"],
    ] as const) {
      await hook(bridge, "BeforeAgent", { prompt: "again" });
      await client.openDiff(nvim.path("a.txt"), "b\n");
      await hook(bridge, "Notification", ASKS);
      await isDoing(bridge, "waiting");
      await nvim.command(command);
      await isDoing(bridge, activity);
    }
    await tells(bridge, 6);
    t.same(await names(bridge), [
      "TurnStarted",
      "Waiting",
      "TurnEnded",
      "TurnStarted",
      "Waiting",
      "TurnEnded",
    ]);
  });

  await t.test("an open review counts as waiting, also after a crash of the host", async () => {
    await client.openDiff(nvim.path("a.txt"), "b\n");
    await isDoing(bridge, "waiting");
    await bridge.replaceHost();
    await isDoing(bridge, "waiting");
    await nvim.command("GeminiReject");
    await isDoing(bridge, "idle");
  });

  await t.test("hook events of another process are not attributed to a connected CLI", async (t) => {
    await nvim.lua("_G.told = {}");
    await hook(bridge, "BeforeAgent", { prompt: "mine", session_id: "another" }, 1);
    await tells(bridge, 1);
    const [{ data } = { data: {} }] = await told(bridge);
    t.match(data, { cli: "gemini", session: "another" });
    t.notOk("id" in data);
    t.notMatch(await statusline(bridge), /working/);
  });

  await t.test("a turn ends when its CLI disconnects", async () => {
    await nvim.lua("_G.told = {}");
    await hook(bridge, "BeforeAgent", { prompt: "last" });
    await tells(bridge, 1);
    await nvim.lua("_G.told = {}");
    await client.close();
    await tells(bridge, 2);
    // An agent without a visible process ends with the last connection of its CLI.
    t.match(await told(bridge), [
      { name: "TurnEnded", data: { session: "another" } },
      { name: "TurnEnded", data: common },
    ]);
  });
});

t.test("the turn of a CLI that is not connected ends with the process of the CLI", async (t) => {
  const { bridge } = await start(t);
  const cli = spawn("sleep", ["1000"]);
  t.teardown(() => cli.kill("SIGKILL"));
  await once(cli, "spawn");
  await hook(bridge, "BeforeAgent", { prompt: "go" }, cli.pid);
  await tells(bridge, 1);
  cli.kill("SIGKILL");
  await tells(bridge, 2);
  t.match(await told(bridge), [{ name: "TurnStarted" }, { name: "TurnEnded", data: { session: "s" } }]);
});

t.test("earlier edits can be undone although no hook reports the end of a rejected edit", async (t) => {
  const { bridge, nvim } = await start(t);
  const client = await bridge.client();
  await hook(bridge, "BeforeAgent", { prompt: "write it" });
  await hook(bridge, "BeforeTool", WRITE);
  writeFileSync(nvim.path("a.txt"), "b\n");
  await hook(bridge, "AfterTool", WRITE);
  await nvim.waitFor("#require('gemini-bridge').changes() == 1", "the change");

  await hook(bridge, "BeforeTool", WRITE);
  await client.openDiff(nvim.path("a.txt"), "c\n");
  await hook(bridge, "Notification", ASKS);
  await isDoing(bridge, "waiting");
  await nvim.command("GeminiReject");
  await isDoing(bridge, "idle");
  await nvim.command("GeminiUndo! all");
  await nvim.waitFor("#require('gemini-bridge').changes() == 0", "the undo");
  t.equal(readFileSync(nvim.path("a.txt"), "utf8"), "a\n");
});

t.test(":GeminiGate decides whether a CLI asks before an edit", async (t) => {
  const mine = "{ like = 'gemini', directory = '~/.mine', env = 'MINE_' }";
  const { bridge, nvim } = await start(t, `gate = { mine = true }, clis = { mine = ${mine} }`);
  const asks = (answer: Answer) => answer.status === 200 && JSON.parse(answer.body).decision === "ask";
  const edit = async (pid?: number) => asks(await hook(bridge, "BeforeTool", WRITE, pid));
  const reaches = (on: boolean) => nvim.waitFor(async () => (await edit()) === on, `the gate to be ${on}`);

  t.equal(await statusline(bridge), "Gemini: waiting", "no CLI that asks is connected");
  await nvim.command("GeminiGate on");
  t.equal(await statusline(bridge), "Gemini: waiting");
  await hook(bridge, "SessionEnd");
  t.equal(await edit(), false, "nobody is connected");
  const first = await bridge.client();
  await reaches(true);
  t.equal(await statusline(bridge), "Gemini: working, gate on");
  t.equal(await edit(1), false, "a process that is not connected");
  const shell = { tool_name: "run_shell_command", tool_input: { command: "true" } };
  t.equal(asks(await hook(bridge, "BeforeTool", shell)), false);

  await t.test("the gate outlives a crash of the host", async () => {
    // Otherwise the session of this client would return and count as a second client.
    await first.close();
    await bridge.replaceHost();
    await bridge.client();
    await reaches(true);
  });

  await nvim.command("GeminiGate cli=gemini");
  await reaches(false);
  t.equal(await statusline(bridge), "Gemini: working");
  await nvim.command("GeminiGate cli=gemini");
  await reaches(true);
  await nvim.command("GeminiGate off cli=claude");
  t.equal(await statusline(bridge), "Gemini: working, gate on for gemini");
  const view = await nvim.lua("return require('gemini-bridge.turns.gate').lines()");
  t.same(view, ["on, but off for claude"]);
  await nvim.command("GeminiGate off");
  await reaches(false);
  t.notMatch(await statusline(bridge), /gate/);
  await nvim.command("GeminiGate maybe");
  await nvim.command("GeminiGate on cli=nobody");
  await nvim.command("GeminiGate on cli=qwen");
  await nvim.says(/Usage: :GeminiGate[\s\S]*Unknown CLI 'nobody'[\s\S]*The gate cannot make Qwen Code ask/);
  const completion = await nvim.lua("return vim.fn.getcompletion('GeminiGate ', 'cmdline')");
  t.same(completion, ["off", "on", "cli=gemini", "cli=claude", "cli=mine"]);
});

t.test("a CLI whose hooks are off does not count as asking, and the user is told once", async (t) => {
  const { bridge, nvim } = await start(t, "gate = true");
  const settings = (folder: string, content: object) =>
    writeFiles(folder, { ".gemini/settings.json": JSON.stringify(content) });
  const { home, workspace } = nvim.dirs;
  const client = await bridge.client();
  const reason = () =>
    nvim.lua("return (require('gemini-bridge.bridge.status').get().clients[1] or {}).hooksOff or ''");
  const becomes = (wanted: RegExp) =>
    nvim.waitFor(async () => wanted.test(String(await reason())), `${wanted}`);
  const worksAgain = async () => {
    await hook(bridge, "BeforeTool", WRITE);
    await becomes(/^$/);
    await nvim.command("GeminiGate on");
    t.match(await statusline(bridge), /gate on/);
  };
  const shown = async () => (await nvim.messages()).split("its hooks are off").length - 1;
  await worksAgain();

  await t.test("settings of the user and of the project, read as they change", async (t) => {
    for (const [folder, key, content] of [
      [home, "hooksConfig.enabled is false", { hooksConfig: { enabled: false } }],
      [workspace, 'hooksConfig.disabled contains "neovim"', { hooksConfig: { disabled: ["neovim"] } }],
    ] as const) {
      const before = await shown();
      settings(folder, content);
      const file = `${folder}/.gemini/settings.json`;
      await becomes(new RegExp(`^${key} in ${file}$`));
      t.notMatch(await statusline(bridge), /gate/);
      await nvim.says(
        new RegExp(`Gemini CLI does not ask before edits, although the gate is on.*${key}`, "s"),
      );
      await nvim.command("GeminiGate off");
      await nvim.command("GeminiGate on");
      await nvim.says(/The gate stays off.*its hooks are off: hooksConfig/s);
      const view = "table.concat(require('gemini-bridge.report.status_view').lines(), '\\n')";
      t.match(await nvim.lua(`return ${view}`), `its hooks are off: ${key} in ${file}`);
      t.match((await examine(nvim))["Bridge"], `are off: ${key} in ${file}`);
      await worksAgain();
      settings(folder, {});
      t.equal((await shown()) - before, 2, "one message, and one of :GeminiGate");
    }
  });

  await t.test("a proposal without a hook", async () => {
    await hook(bridge, "BeforeTool", WRITE);
    await client.openDiff(nvim.path("a.txt"), "b\n");
    await client.openDiff(nvim.path("other.txt"), "b\n");
    await becomes(/^it has proposed an edit without calling a hook$/);
    t.notMatch(await statusline(bridge), /gate/);
    await nvim.says(/although the gate is on.*without calling a hook/s);
    await worksAgain();
    await client.openDiff(nvim.path("third.txt"), "b\n");
    await becomes(/without/);
  });
});

t.test("a desktop notification is sent while Neovim is not focused", async (t) => {
  const { bridge, nvim } = await startBridge(t, {
    tui: true,
    init: `${EVENTS}\nrequire('gemini-bridge').setup({ notify = { desktop = true } })`,
  });
  const terminal = await connectRpc(join(nvim.dirs.base, "terminal"), nvim.exited);
  await terminal.lua(`
    _G.requests = {}
    vim.api.nvim_create_autocmd('TermRequest', { callback = function() table.insert(_G.requests, vim.v.termrequest) end })`);
  const requests = async () => z.array(z.string()).parse(await terminal.lua("return _G.requests"));
  const turn = async (cwd: string) => {
    await hook(bridge, "BeforeAgent", { prompt: "go", cwd });
    await hook(bridge, "AfterAgent", { cwd });
  };
  await turn("/here");
  await tells(bridge, 2);
  await nvim.command("doautocmd FocusLost");
  await turn("/a/pro\u009dj\u001b]0;x\u0007ect");
  await nvim.waitFor(async () => /gemini has finished/.test((await requests()).join()), "the notification");
  // If progress messages are enabled, Neovim also sends them to its terminal.
  const isProgress = (request: string) => request.startsWith("\u001b]9;4;");
  t.same(
    (await requests()).filter((request) => !isProgress(request)),
    ["\u001b]9;gemini has finished in pro<9d>j^[]0;x^Gect"],
  );
  // The terminal of the outer Neovim would drop what is wrapped for tmux.
  const ui =
    "local api = vim.api _G.ui_send, api.nvim_ui_send = api.nvim_ui_send, function(text) table.insert(_G.sent, text) end";
  await nvim.lua(`_G.sent, vim.env.TMUX = {}, '/tmp/tmux-1/default,1,0' ${ui}`);
  await turn("/here");
  // The progress of the turn is sent, too.
  const wrapped = "\u001bPtmux;\u001b\u001b]9;gemini has finished in here\u0007\u001b\\";
  await nvim.waitFor(
    () => nvim.lua("return vim.list_contains(_G.sent, ...)", wrapped),
    "the notification in tmux",
  );
  await nvim.lua("vim.env.TMUX, vim.api.nvim_ui_send = nil, _G.ui_send");
  const hasProgress = await nvim.lua("return vim.fn.has('nvim-0.12') == 1");
  t.equal((await requests()).some(isProgress), hasProgress);

  const last = async () => (await requests()).filter(isProgress).at(-1);
  await hook(bridge, "BeforeAgent", { prompt: "go on" });
  if (hasProgress)
    await nvim.waitFor(async () => /^.\]9;4;[13]/.test((await last()) ?? ""), "the progress of the turn");
  await Promise.allSettled([nvim.command("qa!"), nvim.exited]);
  t.notMatch((await last()) ?? "", /^.\]9;4;[1-4]/, "no progress stays in the terminal's tab bar");
});

t.test("setup() changes the option gate of a running bridge", async (t) => {
  const { bridge, nvim } = await start(t);
  await bridge.client();
  const edit = async () => (await hook(bridge, "BeforeTool", WRITE)).body;
  t.notMatch(await edit(), /"ask"/);
  for (const on of [true, false]) {
    await nvim.lua("require('gemini-bridge').setup({ gate = ... })", on);
    await nvim.waitFor(async () => /"ask"/.test(await edit()) === on, `the gate to be ${on}`);
    t.equal(/gate on/.test(String(await statusline(bridge))), on);
  }
});
