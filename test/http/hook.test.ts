import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { createLog } from "../../src/base/log.ts";
import type { AgentEvent } from "../../src/contract/hooks.ts";
import { geminiHooks, quoted, qwenHooks } from "../../src/profiles/hooks.ts";
import { type AgentListener, createHooksRoute } from "../../src/turns/hook-route.ts";
import { commandsOnPath, input, runHook as run, SCRIPT, SILENT, variables } from "../support/hook.ts";
import { listenOn } from "../support/listen.ts";
import { root } from "../support/nvim.ts";
import { makeDirectory } from "../support/sandbox.ts";
import { ask, startServer, TOKEN } from "../support/server.ts";
import { waitFor } from "../support/wait.ts";

const tool = (name: string, tool_input: object) => ({ tool_name: name, tool_input });
const WRITE = tool("write_file", { file_path: "/a.ts", content: "ü\\ '\"\n" });

/** A prompt with characters that shells and `printf` interpret. */
const PROMPT = "grüße $(exit 1) `exit 1` \"$HOME\" '%s' \\n\n";

interface Behaviour {
  listener?: AgentListener;
  asks?: (event: AgentEvent) => Promise<boolean>;
  tells?: () => string | undefined;
  bodyLimit?: number;
}

async function start(t: Test, behaviour: Behaviour = {}) {
  const { listener, asks = async () => false, tells = () => undefined, bodyLimit } = behaviour;
  const events: AgentEvent[] = [];
  const log = createLog();
  const listeners = [(event: AgentEvent) => void events.push(event), ...(listener ? [listener] : [])];
  const route = createHooksRoute({ listeners, asks, tells, gateOf: () => "decision", log });
  const { port } = await startServer(t, { routes: [route], ...(bodyLimit && { bodyLimit }) });
  return { port, events };
}

t.test("the host notices a CLI that stopped waiting while the host was blocked", async (t) => {
  const late: boolean[] = [];
  const listener: AgentListener = async ({ kind }, begun) => {
    if (kind === "tool_starting") late.push(begun.aborted);
  };
  const { port, events } = await start(t, { listener });
  const env = { ...process.env, ...variables(port), TMPDIR: "/nowhere" };
  await run(env, input("BeforeTool", WRITE));
  // The host runs in this process, and this call blocks the process until the hook gives up.
  execFileSync("bash", ["-c", `. '${SCRIPT}' GEMINI_CLI_IDE`], { env, input: input("BeforeTool", WRITE) });
  await waitFor(() => events.length === 2, "the late event");
  t.strictSame(late, [false, true]);
});

t.test("the hook of a CLI reports events and makes the CLI ask before an edit", async (t) => {
  let on = false;
  const { port, events } = await start(t, { asks: async () => on });
  const env = variables(port);
  t.same(await run(env, input("BeforeAgent", { prompt: PROMPT })), SILENT);
  t.match(events, [
    { kind: "turn_started", prompt: PROMPT, agent: { cli: "test", session: "s", pid: process.pid } },
  ]);
  t.same(await run(env, input("BeforeTool", WRITE)), SILENT);
  on = true;
  const { out, ...rest } = await run(env, input("BeforeTool", WRITE));
  t.match(JSON.parse(out), { decision: "ask" });
  t.same(rest, { err: "", code: 0 });
  t.equal(events.length, 3);
});

t.test(
  "the hook adds a note for the agent to the prompt only once, also if the hook runs twice",
  async (t) => {
    const texts = ['The user undid your changes in "a $(exit 1).ts".'];
    const { port } = await start(t, { tells: () => texts.pop() });
    const env = variables(port);
    const prompt = input("BeforeAgent", { prompt: PROMPT });
    const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
    const body = input("BeforeAgent", { prompt: PROMPT });
    const { status } = await fetch(`http://127.0.0.1:${port}/hook?notice`, { method: "POST", headers, body });
    t.equal(status, 204, "a hook that waits for no answer is told nothing");
    const { out, ...rest } = await run(env, prompt);
    t.strictSame(JSON.parse(out), {
      hookSpecificOutput: {
        hookEventName: "BeforeAgent",
        additionalContext: 'The user undid your changes in "a $(exit 1).ts".',
      },
    });
    t.same(rest, { err: "", code: 0 });
    t.same(await run(env, prompt), SILENT);
  },
);

t.test("the hook sends long events, with and without curl", async (t) => {
  const { port, events } = await start(t, { asks: async () => true });
  const few = { PATH: commandsOnPath(t, "bash", "cat", "dd") };
  const home = makeDirectory(t);
  writeFileSync(join(home, ".curlrc"), `verbose\noutput = "${join(home, "output")}"\n`);
  const env = { ...variables(port), HOME: home, http_proxy: "http://127.0.0.1:1" };
  for (const [what, more] of [["curl", {}] as const, ["none", few] as const])
    for (const size of [100_000, 200_000, 524_288, 6_400_000]) {
      const large = tool("write_file", { file_path: `/${size}`, content: `${"ü\n".repeat(size / 4)}ü` });
      const { out, ...rest } = await run({ ...env, ...more }, input("BeforeTool", large));
      t.same(rest, { err: "", code: 0 }, `${what}, ${size}`);
      t.match(JSON.parse(out), { decision: "ask" });
      t.match(events.at(-1), {
        kind: "tool_starting",
        tool: { filePath: `/${size}` },
        agent: { pid: process.pid },
      });
      t.same(
        await run({ ...env, ...more, GEMINI_CLI_IDE_SERVER_PORT: "1" }, input("AfterTool", large)),
        SILENT,
      );
      t.same(await run({ ...variables(port, "another"), ...more }, input("AfterTool", large)), SILENT);
    }
  t.equal(events.length, 8);
  t.same(readdirSync(home), [".curlrc"], "the user's settings of curl are for others");
});

t.test("the hook prints nothing, even after a failure", async (t) => {
  const { port, events } = await start(t, { bodyLimit: 1024 });
  const env = variables(port);
  const body = input("BeforeTool", WRITE);
  const none = { GEMINI_CLI_IDE_SERVER_PORT: undefined, GEMINI_CLI_IDE_AUTH_TOKEN: undefined };
  t.same(await run(none, body), SILENT, "outside of Neovim");
  t.same(await run(variables(1), body), SILENT, "the host is gone");
  t.same(await run({ ...env, GEMINI_CLI_IDE_SERVER_PORT: "no port" }, body), SILENT);
  t.same(await run({ ...env, GEMINI_CLI_IDE_SERVER_PORT: "$(touch /tmp/x)" }, body), SILENT);
  t.same(await run(variables(port, "another"), body), SILENT, "a token of another time");
  t.same(await run(env, "no JSON"), SILENT);
  t.same(await run(env, "{}"), SILENT);
  t.same(await run(env, ""), SILENT);
  t.same(await run(env, input("BeforeAgent", { prompt: "x".repeat(2000) })), SILENT, "too large");
  t.same(await run(env, body, { script: "/nowhere/hook.sh" }), SILENT, "the plugin is gone");
  t.same(await run({ ...env, POSIXLY_CORRECT: "1" }, body), SILENT, "a bash that follows POSIX");
  t.same(await run({ ...env, PATH: "/nowhere:/bin" }, body), SILENT);
  t.match(
    events.map(({ kind }) => kind),
    ["tool_starting"],
    "the same event twice is one",
  );

  const deaf = await listenOn(
    t,
    createServer((socket) => void socket.pause()),
  );
  const large = input("AfterTool", tool("write_file", { file_path: "/b", content: "x".repeat(8_000_000) }));
  t.same(await run(variables(deaf), large), SILENT, "a host that hangs");
});

t.test("the token never appears in the list of processes", async (t) => {
  const seen: string[] = [];
  const { port } = await start(t, {
    listener: async ({ agent }) => {
      // Checks all processes of the test while the hook waits for an answer.
      const { spawnSync } = await import("node:child_process");
      seen.push(spawnSync("ps", ["-A", "-ww", "-o", "command="], { encoding: "utf8" }).stdout);
      t.equal(agent.pid, process.pid);
    },
  });
  await run(variables(port), input("BeforeTool", WRITE));
  await run(variables(port), input("BeforeTool", { ...WRITE, more: "x".repeat(1_000_000) }));
  t.match(seen, [/hook\.sh/, /curl/]);
  t.notMatch(seen.join(), TOKEN);
});

t.test("the agent waits for an answer of the hook only before edits", async (t) => {
  const errors: string[] = [];
  let release = () => {};
  const { port, events } = await start(t, {
    async listener(event) {
      if (event.kind === "turn_ended") throw new Error("a listener's own");
      if (event.kind === "tool_starting") await new Promise<void>((resolve) => (release = resolve));
      errors.push(event.kind);
    },
    asks: async () => true,
  });
  const post = (body: string, headers = {}) => ask(port, { path: "/hook?pid=7", body, headers });
  const before = post(input("BeforeTool", WRITE));
  await waitFor(() => events.length === 1, "the event");
  t.same(errors, [], "it has not been answered");
  release();
  t.equal((await before).status, 200);
  t.same(errors, ["tool_starting"], "what was to be done before the tool is done");
  const slow = await post(input("BeforeTool", WRITE));
  t.match([slow.status, JSON.parse(slow.body)], [200, { decision: "ask" }], "not for ever, and it asks");
  t.equal((await post(input("AfterAgent"))).status, 204, "an error of a listener's is not the CLI's");
  t.equal((await post(input("AfterAgent"), { origin: "http://127.0.0.1" })).status, 403);
  t.equal((await post(input("AfterAgent"), { authorization: "" })).status, 401);
  t.equal((await ask(port, { path: "/hook", method: "GET" })).status, 405);
  t.equal((await post("[]")).status, 400);
  t.equal((await post(input("AfterAgent", { session_id: 1 }))).status, 400);
  t.equal((await ask(port, { path: "/hook?pid=-1", body: input("AfterAgent") })).status, 204);
  t.equal(events.at(-1)?.agent.pid, undefined, "a process id that is none");
});

t.test("if a hook needs no answer, the agent continues before the host has read the event", async (t) => {
  const { port, events } = await start(t, { asks: async () => true });
  const post = (body: string) => ask(port, { path: "/hook?pid=7&notice", body });
  t.equal((await post("no JSON")).status, 204);
  t.equal((await post(input("BeforeTool", WRITE))).status, 204);
  const large = input("AfterTool", tool("write_file", { file_path: "/b", content: "x".repeat(6_000_000) }));
  await Promise.all([post(large), post(input("AfterAgent"))]);
  await waitFor(() => events.length === 3, "all");
  const { AfterTool, BeforeTool } = JSON.parse(JSON.stringify(geminiHooks(quoted(SCRIPT)))).hooks;
  t.match(AfterTool[0].hooks[0].command, / notice /);
  t.notMatch(BeforeTool[0].hooks[0].command, / notice /);
});

t.test("the extension defines the same hooks as the settings", async (t) => {
  const read = (name: string) => JSON.parse(readFileSync(join(root, "extension", name), "utf8"));
  const script = `"$${"{extensionPath}"}/hooks/hook.sh"`;
  t.same(read("hooks/hooks.json"), geminiHooks(script));
  t.match(read("qwen-extension.json"), qwenHooks(script), "which Qwen Code takes from there alone");
});
