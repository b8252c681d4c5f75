/** Tests the doctor's findings about running CLIs, the account and the sandbox. Their properties are data of the tests. */
import t from "tap";
import { checkAccount } from "../../src/doctor/account.ts";
import { checkSandbox } from "../../src/doctor/containers-and-wsl.ts";
import { section } from "../../src/doctor/findings.ts";
import { runningClis } from "../../src/doctor/running-clis.ts";
import { GEMINI } from "../../src/profiles/profiles.ts";
import { isOwnAndAlive } from "../../src/system/processes.ts";
import type { Variables } from "../../src/system/system.ts";

t.test("the CLIs of other users are not listed", { skip: isOwnAndAlive(1) }, async (t) => {
  const running = (pid: number) =>
    [pid, { pid, parent: 0, seconds: 1, command: "node /usr/bin/gemini" }] as const;
  const table = new Map([running(1), running(process.pid)]); // process 1 belongs to another user
  t.same(
    runningClis(table, [GEMINI]).map(({ pid }) => pid),
    [process.pid],
  );
});

t.test("a refused login is found on the screen, also if a frame wraps the message", async (t) => {
  const findings = section("");
  checkAccount(findings, ["> Type your message"]);
  t.same(findings.items, []);
  checkAccount(findings, [
    "│ Failed to sign in. Message: This client is no longer supported for   │",
    "│ Gemini Code Assist for individuals. Use Antigravity CLI.             │",
  ]);
  t.match(findings.items, [
    { level: "error", text: /^Google refuses the account/, advice: /:Gemini cli=qwen/ },
  ]);
});

t.test("the doctor names what turns on a sandbox of Gemini CLI", async (t) => {
  const inSandbox = (env: Variables, words: string[] = [], settings: object = {}) => {
    const findings = section("");
    checkSandbox(
      findings,
      env,
      ["node", "/usr/bin/gemini", ...words],
      [{ path: "/s.json", settings: { ...settings } }],
    );
    return findings.items[0]?.text ?? "none";
  };
  t.match(inSandbox({ SANDBOX: "sandbox-exec" }), "(SANDBOX is sandbox-exec)");
  t.match(inSandbox({ GEMINI_SANDBOX: "docker" }), "(GEMINI_SANDBOX is docker)");
  t.match(inSandbox({}, ["--sandbox=podman"]), "(its command line has --sandbox)");
  t.match(inSandbox({}, [], { tools: { sandbox: "docker" } }), "(tools.sandbox is set in /s.json)");
  t.equal(inSandbox({}, ["--model", "x"], { tools: { sandbox: false } }), "none");
});
