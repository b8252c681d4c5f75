/** Tests how a hook finds Neovim if the variables of its terminals are missing or outdated. */
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { delimiter, dirname, join } from "node:path";
import t, { type Test } from "tap";
import { createLog } from "../../src/base/log.ts";
import type { AgentEvent } from "../../src/contract/hooks.ts";
import { createDiscoveryFile } from "../../src/discovery/file.ts";
import { announcedEditors, chooseEditor } from "../../src/profiles/announced-editors.ts";
import { GEMINI, type Profile, profilesOf } from "../../src/profiles/profiles.ts";
import { createHooksRoute } from "../../src/turns/hook-route.ts";
import {
  commandsOnPath,
  type HookOptions,
  input,
  runHook,
  SILENT,
  startTrap,
  variables,
} from "../support/hook.ts";
import { listenOn } from "../support/listen.ts";
import { makeDirectory } from "../support/sandbox.ts";
import { startServer, TOKEN } from "../support/server.ts";
import { announcement, setEnv, temporary } from "../support/temporary.ts";

/** A process id above the maximum of Linux. */
const DEAD = 4_194_400;

/** Returns the fields of a tool that writes a file. */
const write = (size = 1) => ({
  tool_name: "write_file",
  tool_input: { file_path: "/a.ts", content: "x".repeat(size) },
});

/** Starts an editor with a discovery file. The editor records the events of hooks. */
async function startEditor(t: Test, pid: number, roots: readonly string[], options: EditorOptions = {}) {
  const { profile = GEMINI, token = TOKEN } = options;
  const heard: AgentEvent[] = [];
  const listeners = [(event: AgentEvent) => void heard.push(event)];
  const { port } = await startServer(t, {
    routes: [
      createHooksRoute({
        listeners,
        asks: async () => true,
        tells: () => undefined,
        gateOf: () => "decision",
        log: createLog(),
      }),
    ],
  });
  const file = createDiscoveryFile(profile, announcement(pid, port, token));
  file.write(roots);
  t.teardown(file.remove);
  return { pid, port, heard, path: file.path };
}
interface EditorOptions {
  profile?: Profile;
  /** Token in the discovery file. */
  token?: string;
}

/** Starts a process that is not an ancestor of the hook script. */
function startProcess(t: Test): number {
  const { pid, ...sleep } = spawn("sleep", ["600"], { stdio: "ignore" });
  if (pid === undefined) throw new Error("no process");
  t.teardown(() => process.kill(pid));
  void sleep;
  return pid;
}

/** Creates directories for discovery files and for the CLI. The environment does not contain the variables. */
function prepare(t: Test) {
  const TMPDIR = temporary(t);
  const workspace = makeDirectory(t);
  const env = {
    TMPDIR,
    GEMINI_CLI_IDE_SERVER_PORT: undefined,
    GEMINI_CLI_IDE_AUTH_TOKEN: undefined,
    GEMINI_CLI_IDE_PID: undefined,
  };
  const tell = (more: Record<string, string> = {}, options: HookOptions = {}) =>
    runHook({ ...env, ...more }, input("BeforeTool", write()), { cwd: workspace, ...options });
  return { TMPDIR, workspace, env, tell };
}

const ASKED = { ...SILENT, out: '{"decision":"ask"}' };

t.test(
  "the hook finds the editor among the CLI's ancestors in every directory, the nearest ancestor first",
  async (t) => {
    const { tell } = prepare(t);
    const far = await startEditor(t, process.ppid, ["/nowhere"]);
    t.same(await tell(), ASKED);
    t.match(far.heard, [{ kind: "tool_starting", agent: { pid: process.pid } }]);
    const near = await startEditor(t, process.pid, ["/nowhere"]);
    t.same(await tell(), ASKED);
    t.equal(near.heard.length, 1);
    t.equal(far.heard.length, 1);
  },
);

t.test("the hook finds the editor that a variable of the CLI names in every directory", async (t) => {
  const { tell } = prepare(t);
  const editor = await startEditor(t, DEAD, ["/nowhere"]);
  t.same(await tell(), SILENT);
  t.same(await tell({ GEMINI_CLI_IDE_PID: String(DEAD) }), ASKED);
  t.equal(editor.heard.length, 1);
});

t.test(
  "without an ancestor and a variable, the hook finds the editor that has the directory open",
  async (t) => {
    const { workspace, tell } = prepare(t);
    const odd = join(workspace, 'a "b" \\ c ü');
    mkdirSync(join(odd, "sub"), { recursive: true });
    const link = join(makeDirectory(t), "link");
    symlinkSync(odd, link);
    for (const roots of [[odd], ["", "/nowhere", odd], [`${odd}/`], [link], ["/"]]) {
      const editor = await startEditor(t, DEAD, roots);
      for (const cwd of [odd, join(odd, "sub"), link, join(link, "sub")])
        t.same(await tell({}, { cwd }), ASKED, `${roots} for ${cwd}`);
      t.equal(editor.heard.length, 4);
      rmSync(editor.path);
    }
    for (const root of ["", "relative", `${workspace}x`, join(workspace, "sub"), workspace.slice(0, -1)]) {
      const editor = await startEditor(t, DEAD, [root]);
      t.same(await tell(), SILENT, root);
      t.same(editor.heard, []);
      rmSync(editor.path);
    }
  },
);

t.test("of several editors, the hook chooses the same as the CLI", async (t) => {
  const { TMPDIR, workspace, tell } = prepare(t);
  const living = [startProcess(t), startProcess(t)];
  const editors = [];
  for (const [pid, root] of [
    [DEAD, workspace],
    [DEAD + 1, workspace],
    [living[0] ?? 0, workspace],
    [living[1] ?? 0, dirname(workspace)],
    [process.ppid + 100_000, "/nowhere"],
  ] as const)
    editors.push(await startEditor(t, pid, [root]));
  for (let left = 4; left > 0; left--) {
    const taken = chooseEditor(announcedEditors(TMPDIR), { idePid: 0, cwd: workspace });
    t.same(await tell(), ASKED);
    const told = editors.filter(({ heard }) => heard.length > 0);
    t.same(
      told.map(({ port }) => port),
      [taken?.port],
    );
    for (const { heard, path } of told) {
      heard.length = 0;
      rmSync(path);
    }
  }
  t.same(await tell(), SILENT);
});

t.test("the hook skips an editor that has ended or has another token", async (t) => {
  const { workspace, tell } = prepare(t);
  const right = await startEditor(t, DEAD, [workspace]);
  await startEditor(t, DEAD + 1, [workspace], { token: "another" });
  createDiscoveryFile(GEMINI, announcement(DEAD + 2, 1)).write([workspace]);
  t.same(await tell(), ASKED);
  t.equal(right.heard.length, 1);
});

t.test(
  "the hook uses the variables first, and reaches no editor if the port is dead or the token is old",
  async (t) => {
    const { workspace, tell } = prepare(t);
    const announced = await startEditor(t, DEAD, [workspace]);
    const own = await startEditor(t, DEAD + 1, ["/nowhere"]);
    t.same(await tell(variables(own.port)), ASKED);
    t.equal(own.heard.length, 1);
    for (const [i, lost] of [
      variables(1),
      variables(own.port, "old"),
      variables(announced.port, "old"),
      { GEMINI_CLI_IDE_SERVER_PORT: String(own.port) },
      { ...variables(own.port), GEMINI_CLI_IDE_SERVER_PORT: "no port" },
      { ...variables(own.port), GEMINI_CLI_IDE_AUTH_TOKEN: `${TOKEN}\r\nX-Other: 1` },
    ].entries()) {
      t.same(await tell(lost), ASKED, JSON.stringify(lost));
      t.equal(announced.heard.length, i + 1);
    }
    t.equal(own.heard.length, 1);
  },
);

t.test("if another server has taken the port, the hook finds the announced editor", async (t) => {
  const { workspace, env } = prepare(t);
  const announced = await startEditor(t, DEAD, [workspace]);
  const answers: [name: string, serve: (socket: Socket) => void][] = [
    ["closes each connection", (socket) => void socket.destroy()],
    ["closes after the request", (socket) => void socket.once("data", () => socket.end())],
    ["speaks first", (socket) => void socket.end("SSH-2.0-OpenSSH\r\n")],
    ["sends a page", (socket) => void socket.end("HTTP/1.1 200 OK\r\n\r\n<html></html>")],
    ["does not implement POST", (socket) => void socket.end("HTTP/1.0 501 Unsupported\r\n\r\n")],
    ["never answers", (socket) => void socket.resume()],
    ["reads nothing", (socket) => void socket.pause()],
  ];
  let heard = 0;
  for (const [name, serve] of answers)
    for (const size of [1, 200_000, 2_000_000]) {
      const stolen = variables(await listenOn(t, createServer(serve)), "old");
      const said = await runHook({ ...env, ...stolen }, input("BeforeTool", write(size)), { cwd: workspace });
      t.same(said, ASKED, `${name}, ${size}`);
      t.equal(announced.heard.length, ++heard, `${name}, ${size}`);
    }
});

t.test("if an editor hangs, the hook reports to no other editor", async (t) => {
  const { workspace, tell } = prepare(t);
  const port = await listenOn(
    t,
    createServer((socket) => void socket.resume()),
  );
  createDiscoveryFile(GEMINI, announcement(DEAD + 1, port)).write([workspace]);
  const other = await startEditor(t, DEAD, [workspace]);
  t.same(await tell(variables(port)), SILENT, "by its variables");
  t.same(await tell(), SILENT, "by its discovery file");
  t.same(other.heard, []);
});

t.test("a long event arrives only once, with and without curl", async (t) => {
  const { workspace, env } = prepare(t);
  const editor = await startEditor(t, DEAD, [workspace]);
  const stranger = await startEditor(t, DEAD + 1, ["/nowhere"]);
  const few = commandsOnPath(t, "bash", "cat");
  let heard = 0;
  for (const PATH of [process.env["PATH"], few])
    for (const lost of [{}, variables(1), variables(stranger.port, "old")])
      for (const size of [200_000, 2_000_000]) {
        t.same(
          await runHook({ ...env, PATH, ...lost }, input("BeforeTool", write(size)), { cwd: workspace }),
          ASKED,
        );
        t.match(editor.heard.at(-1), { tool: { filePath: "/a.ts" } });
        t.equal(editor.heard.length, ++heard, `${PATH} ${JSON.stringify(lost)} ${size}`);
      }
  t.same(stranger.heard, []);
});

t.test("Qwen Code's hooks find the newest lock of the directory", async (t) => {
  const { workspace, env } = prepare(t);
  const QWEN_HOME = join(makeDirectory(t), "qwen");
  setEnv(t, { QWEN_HOME });
  const profile = profilesOf().find(({ name }) => name === "qwen");
  if (!profile) throw new Error("no profile");
  const old = await startEditor(t, DEAD, [workspace], { profile });
  const fresh = await startEditor(t, DEAD, [workspace], { profile });
  await startEditor(t, DEAD, ["/nowhere"], { profile });
  utimesSync(old.path, 1, 1);
  const body = input("PreToolUse", write());
  for (const home of [QWEN_HOME, "~/qwen"]) {
    const own = { ...env, QWEN_HOME: home, HOME: dirname(QWEN_HOME), QWEN_CODE_IDE_SERVER_PORT: "1" };
    await runHook(own, body, { cwd: workspace, cli: "qwen" });
  }
  t.same(old.heard, []);
  t.equal(fresh.heard.length, 1, "the second time the same event");
  utimesSync(fresh.path, 1, 1);
  utimesSync(old.path, 2, 2);
  const next = { ...env, QWEN_HOME, QWEN_CODE_IDE_SERVER_PORT: undefined };
  await runHook(next, body, { cwd: workspace, cli: "qwen" });
  t.equal(old.heard.length, 1);
});

t.test("Qwen Code's hooks find the lock of a directory with a colon in its path", async (t) => {
  const { workspace, env } = prepare(t);
  const QWEN_HOME = makeDirectory(t);
  setEnv(t, { QWEN_HOME });
  const profile = profilesOf().find(({ name }) => name === "qwen");
  if (!profile) throw new Error("no profile");
  const cwd = join(workspace, 'a:b "c" \\d');
  mkdirSync(cwd);
  const other = await startEditor(t, DEAD, ["/nowhere", join(workspace, "a")], { profile });
  const editor = await startEditor(t, DEAD, ["/nowhere", cwd], { profile });
  const own = { ...env, QWEN_HOME, QWEN_CODE_IDE_SERVER_PORT: undefined };
  await runHook(own, input("PreToolUse", write()), { cwd, cli: "qwen" });
  t.equal(editor.heard.length, 1);
  t.same(other.heard, []);
});

t.test("a discovery file of another user is ignored, and nothing in that file is executed", async (t) => {
  const { TMPDIR, workspace, tell } = prepare(t);
  const mark = join(TMPDIR, "mark");
  const trap = await startTrap(t);
  const { port } = trap;
  const ide = join(TMPDIR, "gemini/ide");
  mkdirSync(ide, { recursive: true });

  const ideInfo = { name: "neovim", displayName: "Neovim" };
  const right = { port, workspacePath: workspace, authToken: "token", ideInfo };
  const contents = [
    "",
    "{",
    "[]",
    "\0\0\0",
    JSON.stringify({ ...right, port: `127.0.0.1:${port}` }),
    JSON.stringify({ ...right, port: -port }),
    JSON.stringify({ ...right, port: port / 10 ** 5 }),
    JSON.stringify({ ...right, port: `$(touch ${mark})` }),
    JSON.stringify({ ...right, port: `a[$(touch ${mark})]` }),
    `{"port":a[$(touch ${mark})],${JSON.stringify({ ...right, port: undefined }).slice(1)}`,
    `{"port":${port}/../../evil.example/80,${JSON.stringify({ ...right, port: undefined }).slice(1)}`,
    `{"port":0${port},${JSON.stringify({ ...right, port: undefined }).slice(1)}`,
    JSON.stringify({ ...right, authToken: `$(touch ${mark})` }),
    JSON.stringify({ ...right, authToken: 'a\r\nHost: "evil' }),
    JSON.stringify({ ...right, authToken: "" }),
    JSON.stringify({ ...right, workspacePath: `$(touch ${mark})` }),
    JSON.stringify({ ...right, workspacePath: `\`touch ${mark}\`:%n%s\\c:${workspace}\\u0000` }),
    JSON.stringify({ ...right, workspacePath: ["/"] }),
    JSON.stringify({ ...right, workspacePath: "" }),
    JSON.stringify({ ...right, ideInfo: { name: "vscode", displayName: "neovim" } }),
    JSON.stringify(right, null, 2),
    JSON.stringify({ ...right, workspacePath: `/${"x/../".repeat(1_000_000)}:${workspace}` }),
    `${" ".repeat(30_000_000)}${JSON.stringify(right)}`,
  ];
  const path = join(ide, `gemini-ide-server-${DEAD}-${port}.json`);
  for (const content of contents) {
    writeFileSync(path, content);
    t.same(await tell(), SILENT, content.slice(0, 200));
  }
  rmSync(path);

  const elsewhere = join(TMPDIR, "elsewhere.json");
  writeFileSync(elsewhere, JSON.stringify(right));
  symlinkSync(elsewhere, path);
  t.same(await tell(), SILENT, "a link");
  rmSync(path);
  execFileSync("mkfifo", [path]);
  t.same(await tell(), SILENT, "a pipe");
  rmSync(path);
  mkdirSync(path);
  t.same(await tell(), SILENT, "a directory");
  rmSync(path, { recursive: true });
  for (const name of [`$(touch mark)-${port}`, `a[$(touch mark)]-${port}`, `*-${port}`, "1 2-3"]) {
    writeFileSync(join(ide, `gemini-ide-server-${name}.json`), JSON.stringify({ ...right, port: 1 }));
  }
  t.same(await tell({ GEMINI_CLI_IDE_PID: "a[$(touch mark)] *" }), SILENT, "names");
  rmSync(ide, { recursive: true });

  for (const linked of ["gemini", "gemini/ide"]) {
    const real = join(TMPDIR, "real");
    mkdirSync(join(TMPDIR, "gemini/ide"), { recursive: true });
    writeFileSync(path, JSON.stringify(right));
    renameSync(join(TMPDIR, linked), real);
    symlinkSync(real, join(TMPDIR, linked));
    t.same(await tell(), SILENT, `a link in the place of ${linked}`);
    rmSync(join(TMPDIR, "gemini"), { recursive: true });
    rmSync(real, { recursive: true });
  }
  t.equal(trap.connections(), 0);

  mkdirSync(ide, { recursive: true });
  writeFileSync(path, JSON.stringify(right));
  t.same(await tell(), SILENT, "whoever listens there closes the connection");
  t.equal(trap.connections(), 1, "the same file as it should be is believed");
  t.same(execFileSync("find", [TMPDIR, workspace, "-name", "mark"], { encoding: "utf8" }).split(delimiter), [
    "",
  ]);
});
