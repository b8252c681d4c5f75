/**
 * Tests the doctor's findings about running CLIs, the machine, the account and the approval mode. Their properties are
 * data of the tests.
 */
import { join } from "node:path";
import t from "tap";
import { checkAccount } from "../../src/doctor/account.ts";
import { checkMode, modeOnScreen } from "../../src/doctor/approval-mode.ts";
import { checkMachine, type Machine } from "../../src/doctor/containers-and-wsl.ts";
import type { Gate } from "../../src/doctor/contract.ts";
import { section } from "../../src/doctor/findings.ts";
import { runningClis } from "../../src/doctor/running-clis.ts";
import { checkSandbox } from "../../src/doctor/sandbox.ts";
import { GEMINI, profilesOf } from "../../src/profiles/profiles.ts";
import { readSettings } from "../../src/profiles/settings.ts";
import { isOwnAndAlive } from "../../src/system/processes.ts";
import type { Variables } from "../../src/system/system.ts";
import { makeDirectory, writeFiles } from "../support/sandbox.ts";

const DEBIAN = "6.1.0-31-amd64";
const WSL2 = "5.15.167.4-microsoft-standard-WSL2";

function onMachine(machine: Partial<Machine>): string[] {
  const found = checkMachine({ mark: undefined, release: DEBIAN, env: {}, program: undefined, ...machine });
  return (found?.items ?? []).map(
    ({ level, text, advice }) => `${level}: ${text}${advice ? ` -> ${advice}` : ""}`,
  );
}

t.test("the CLIs of other users are not listed", { skip: isOwnAndAlive(1) }, async (t) => {
  const running = (pid: number) =>
    [pid, { pid, parent: 0, seconds: 1, command: "node /usr/bin/gemini" }] as const;
  const table = new Map([running(1), running(process.pid)]); // process 1 belongs to another user
  t.same(
    runningClis(table, [GEMINI]).map(({ pid }) => pid),
    [process.pid],
  );
});

t.test("an ordinary machine gives no finding", async (t) => {
  t.same(onMachine({}), []);
  t.same(onMachine({ release: "24.3.0", env: { SSH_CONNECTION: "a 1 b 2" } }), [], "macOS, over SSH");
  t.same(onMachine({ program: "/mnt/c/gemini" }), []);
});

t.test("a container is explained", async (t) => {
  const [what, ...directions] = onMachine({ mark: "/.dockerenv" });
  t.equal(what, "info: This is a container: /.dockerenv exists");
  t.match(directions, [
    /^info: This works: Neovim and the CLI in the container\. Start the CLI with :Gemini/,
    /^info: This works with some setup: the CLI in the container, Neovim outside\. .*:help gemini-bridge-containers/,
    /^info: This does not work: Neovim in the container, the CLI outside/,
  ]);
  const env = { REMOTE_CONTAINERS: "true", WSL_DISTRO_NAME: "Ubuntu" };
  const dev = onMachine({ mark: "/run/.containerenv", env, release: WSL2 });
  t.equal(dev[0], "info: This is a container: /run/.containerenv exists, and REMOTE_CONTAINERS is set");
  t.notMatch(dev.join(), "WSL", "a container in WSL is a container");
});

t.test("WSL is explained", async (t) => {
  for (const [machine, name] of [
    [{ release: WSL2, env: { WSL_DISTRO_NAME: "Debian" } }, "info: This is WSL, Debian"],
    [{ release: WSL2 }, "info: This is WSL"],
    [{ release: "4.4.0-19041-Microsoft" }, "info: This is WSL"],
    [{ release: "6.6.0-own", env: { WSL_DISTRO_NAME: "Ubuntu-24.04" } }, "info: This is WSL, Ubuntu-24.04"],
  ] as const) {
    const lines = onMachine(machine);
    t.equal(lines[0], name);
    t.match(lines[1], /works: Neovim and the CLI in WSL, as on every Linux/);
    t.match(
      lines[2],
      /works with some setup: Neovim in WSL, the CLI in a container\. .*:help gemini-bridge-containers/,
    );
    t.match(lines[3], /does not work: Neovim or the CLI on Windows/);
    t.equal(lines.length, 4);
  }
  const shim = "/mnt/c/Users/Ada/AppData/Roaming/npm/gemini";
  t.equal(
    onMachine({ release: WSL2, program: shim }).at(-1),
    `warn: ${shim} is a Windows program -> run this in WSL: npm install -g @google/gemini-cli`,
  );
  t.equal(onMachine({ release: WSL2, program: "/usr/local/bin/gemini" }).length, 4);
});

/** The home directory of the CLI. */
const home = makeDirectory(t);

/** Returns the finding for a kind of login. */
function withLogin(selectedType?: string, env: Record<string, string> = {}, screen?: string[]): string {
  const settings = selectedType === undefined ? {} : { security: { auth: { selectedType } } };
  writeFiles(home, { ".gemini/settings.json": JSON.stringify(settings) });
  const findings = section("");
  const files = readSettings(GEMINI, { HOME: home }, join(home, "project"));
  checkAccount(findings, { env, files, screen });
  const [item] = findings.items;
  return `${item?.level}: ${item?.text}${item?.advice ? ` -> ${item.advice}` : ""}`;
}

t.test("a login with an API key or Vertex AI works", async (t) => {
  t.match(withLogin("gemini-api-key"), /^ok: The CLI signs in by gemini-api-key/);
  t.match(withLogin("vertex-ai"), /^ok: The CLI signs in by vertex-ai/);
});

t.test("a login with Google works only with a project", async (t) => {
  t.match(
    withLogin("oauth-personal"),
    /^warn: .* ended Gemini CLI for personal accounts on 2026-06-18 -> .*\/auth/,
  );
  t.match(withLogin("oauth-personal", { GOOGLE_CLOUD_PROJECT: "mine" }), /^info: .*Standard or Enterprise/);
});

t.test("without a login, the doctor names the possible logins", async (t) => {
  t.match(
    withLogin(),
    /^info: The settings do not say how the CLI signs in\. The CLI works with an API key, with Vertex AI,/,
  );
});

t.test("a refused login is found on the screen, also if a frame wraps the message", async (t) => {
  const screen = [
    "│ Failed to sign in. Message: This client is no longer supported for   │",
    "│ Gemini Code Assist for individuals. Use Antigravity CLI.             │",
  ];
  t.match(withLogin("oauth-personal", {}, screen), /^error: .*refuses the account.* -> .*:Gemini cli=qwen/);
});

const GEMINI_SETTINGS = join(home, ".gemini/settings.json");
const YOLO = ["--yolo"];
const NODE = ["node", "--max-old-space-size=4096", "/usr/bin/gemini"];
const AUTO_EDIT = { general: { defaultApprovalMode: "auto_edit" } };

interface Case {
  cli?: string;
  words?: string[];
  settings?: object;
  screen?: string[];
  gate?: Partial<Gate>;
}

/** Returns the finding for a CLI with the given settings. */
function inMode({ cli = "gemini", words = [], settings = {}, screen, gate }: Case): string {
  writeFiles(home, { [`.${cli}/settings.json`]: JSON.stringify(settings) });
  const profile = profilesOf().find(({ name }) => name === cli);
  if (!profile) throw new Error(cli);
  const files = readSettings(profile, { HOME: home }, join(home, "project"));
  const findings = section("");
  const gates = gate && [{ cli: "gemini", isOn: false, isObeyed: true, isRefused: false, ...gate }];
  checkMode(findings, { profile, words: [...NODE, ...words], files, screen, gates });
  const [item] = findings.items;
  return `${item?.level}: ${item?.text}${item?.advice ? ` -> ${item.advice}` : ""}`;
}

const ASKS = "ok: The CLI asks before it writes a file, and the question opens a diff";
const rule = "─".repeat(40);

for (const [name, found, expected] of [
  ["no word about a mode", {}, ASKS],
  [
    "Claude Code by default",
    { cli: "claude" },
    /mode auto \(its default\) -> start the CLI with :Gemini cli=claude, or with --permission-mode default, or run :GeminiGate on$/,
  ],
  ["Claude Code, started by :Gemini", { cli: "claude", words: ["--permission-mode", "default"] }, ASKS],
  ["Claude Code, by its later name", { cli: "claude", words: ["--permission-mode=manual"] }, ASKS],
  [
    "Claude Code that asks nobody",
    { cli: "claude", words: ["--dangerously-skip-permissions"] },
    /mode bypassPermissions \(its command line\)/,
  ],
  [
    "Claude Code by its settings",
    { cli: "claude", settings: { permissions: { defaultMode: "acceptEdits" } } },
    /mode acceptEdits \(.*\.claude\/settings\.json\)/,
  ],
  [
    "--yolo",
    { words: ["--yolo"] },
    /^warn: .* mode yolo \(its command line\) -> press Ctrl-Y in the CLI, or run :GeminiGate on in Neovim/,
  ],
  ["-y among other letters", { words: ["-dy"] }, /mode yolo/],
  ["--yolo=false", { words: ["--yolo=false"] }, ASKS],
  ["a prompt that looks like a flag", { words: ["-i", "--yolo"] }, ASKS],
  ["a word after --", { words: ["--", "--yolo"] }, ASKS],
  ["--approval-mode", { words: ["--approval-mode", "auto_edit"] }, /mode auto_edit .* -> .*press Shift-Tab/],
  [
    "a flag over settings",
    { words: ["--approval-mode=plan"], settings: AUTO_EDIT },
    /writes nothing in plan/,
  ],
  [
    "settings",
    { settings: AUTO_EDIT },
    `No diff opens, except (in Gemini CLI 0.61 and later) for files of the build such as package.json, because the CLI writes without asking in mode auto_edit (${GEMINI_SETTINGS})`,
  ],
  ["YOLO in settings of Gemini CLI", { settings: { general: { defaultApprovalMode: "yolo" } } }, ASKS],
  ["a screen over a flag", { words: ["--yolo"], screen: [rule, " shift+tab to accept edits"] }, ASKS],
  ["a screen", { screen: [rule, " auto-accept edits  shift+tab"] }, /mode auto_edit \(its screen\)/],
  ["Qwen Code without settings", { cli: "qwen" }, /mode auto \(its default\)/],
  ["Qwen Code with a flag", { cli: "qwen", words: ["--approval-mode", "default"] }, ASKS],
  [
    "YOLO in settings of Qwen Code",
    { cli: "qwen", settings: { tools: { approvalMode: "yolo" } } },
    /mode yolo/,
  ],
  [
    "YOLO, with the gate off",
    { words: YOLO, gate: {} },
    /-> press Ctrl-Y in the CLI, or run :GeminiGate on$/,
  ],
  [
    "YOLO, with the gate on",
    { words: YOLO, gate: { isOn: true } },
    /^ok: .* because :GeminiGate is on; .* yolo/,
  ],
  [
    "YOLO, with a gate that is not obeyed",
    { words: YOLO, gate: { isOn: true, isObeyed: false } },
    /^warn: .* -> :GeminiGate is on, but does not make this CLI ask/,
  ],
  [
    "YOLO, where :GeminiGate would refuse",
    { words: YOLO, gate: { isObeyed: false, isRefused: true } },
    /-> press Ctrl-Y in the CLI$/,
  ],
  ["Qwen Code, which cannot be gated", { cli: "qwen", gate: {} }, /--approval-mode default$/],
] satisfies [string, Case, string | RegExp][])
  t.test(name, async (t) => t.match(inMode(found), expected));

t.test("a screen without the line above the prompt shows no mode", async (t) => {
  t.equal(modeOnScreen(["YOLO", "auto-accept edits"]), undefined);
  t.equal(modeOnScreen([]), undefined);
});

t.test("the doctor recognizes the sandboxes of Gemini CLI", async (t) => {
  const inSandbox = (env: Variables, words: string[] = [], settings: object = {}) => {
    const findings = section("");
    checkSandbox(findings, {
      env,
      words: [...NODE, ...words],
      files: [{ path: "/s.json", settings: { ...settings } }],
    });
    return findings.items[0]?.text ?? "none";
  };
  const CONTAINER =
    /a container of its own \((.*)\): since 0\.61, it gets neither the discovery file nor the token/;
  t.match(inSandbox({ SANDBOX: "sandbox-exec" }), /the sandbox of macOS \(SANDBOX is set\): since 0\.60/);
  t.match(inSandbox({ GEMINI_SANDBOX: "docker" }), CONTAINER);
  t.match(inSandbox({}, ["--sandbox=podman"]), CONTAINER);
  t.match(inSandbox({}, [], { tools: { sandbox: "docker" } }), /tools\.sandbox in \/s\.json/);
  t.match(inSandbox({}, [], { tools: { sandbox: { enabled: true, command: "podman" } } }), CONTAINER);
  t.equal(inSandbox({}), "none");
  t.equal(inSandbox({ GEMINI_SANDBOX: "false" }, ["-s"]), "none", "the variable has priority");
  t.equal(inSandbox({}, ["--sandbox=false"], { tools: { sandbox: true } }), "none");
  t.equal(inSandbox({}, ["--no-sandbox"], { tools: { sandbox: true } }), "none");
  t.equal(inSandbox({}, ["-p", "-s"]), "none", "a prompt that looks like a flag");
});
