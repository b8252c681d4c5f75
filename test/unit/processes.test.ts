/** Tests how processes of CLIs are recognized by their command lines. */
import t from "tap";
import { GEMINI, profilesOf } from "../../src/profiles/profiles.ts";
import { processesOf, runsProgram } from "../../src/system/processes.ts";
import { parseProcesses } from "../../src/system/unix.ts";

const QWEN = profilesOf().find(({ name }) => name === "qwen") ?? GEMINI;

const table = parseProcesses(`
   1     0 01:00 /sbin/init
  10     1 01:00 /usr/bin/gemini --model x
  11     1 01:00 node /usr/local/bin/gemini
  12     1 01:00 /usr/bin/node --max-old-space-size=4096 /opt/gemini/bundle/gemini.js
  13    12 01:00 /usr/bin/node /opt/gemini/bundle/gemini.js
  14     1 01:00 node /usr/lib/node_modules/@google/gemini-cli/dist/index.js
  15     1 01:00 nodejs node_modules/@qwen-code/qwen-code/cli.js
  20     1 01:00 vim gemini.js
  21     1 01:00 node /usr/lib/node_modules/@google/gemini-cli/node_modules/.bin/tsserver
  22     1 01:00 node /home/ada/gemini.test.js
  23     1 01:00 sh -c node gemini.js
  30     1 01:00 npm exec @google/gemini-cli@latest --yolo
  31    30 01:00 sh -c 'gemini' --yolo
  32    31 01:00 node /home/ada/.npm/_npx/0a/node_modules/.bin/gemini --yolo
  33     1 01:00 npm exec @qwen-code/qwen-code
  35     1 01:00 node /usr/lib/node_modules/pnpm/bin/pnpm.cjs dlx @google/gemini-cli
  36    35 01:00 node /home/ada/dlx/node_modules/@google/gemini-cli/dist/index.js
  34     1 01:00 bun x gemini-clip
`);
const pids = (profile: typeof GEMINI) => processesOf(table, profile).map(({ pid }) => pid);

t.test(
  "a process of a CLI is recognized by its program, script or npm package, and found once",
  async (t) => {
    t.same(pids(GEMINI), [10, 11, 12, 14, 32, 36]);
    t.same(pids(QWEN), [15]);
  },
);

t.test("the option terminal.cmd may start the CLI by an interpreter or a shell", async (t) => {
  const script = "/opt/gemini/bundle/gemini.js";
  for (const cmd of [
    ["node", script],
    ["/usr/bin/node", "--max-old-space-size=4096", script, "--yolo"],
    ["bash", "-lc", "gemini"],
  ])
    t.same(pids({ ...GEMINI, cmd }), [10, 11, 12, 14, 32, 36], cmd.join(" "));
});

t.test(
  "a CLI that a package manager runs without installing it is recognized by its npm package",
  async (t) => {
    for (const line of [
      "npx @google/gemini-cli",
      "npx -y @google/gemini-cli@latest --yolo",
      "/usr/bin/bunx @google/gemini-cli",
      "npm exec -- @google/gemini-cli",
      "pnpm dlx @google/gemini-cli@0.9.0",
      "yarn dlx -q @google/gemini-cli",
      "npx --registry https://npm.example @google/gemini-cli",
      "node /usr/lib/node_modules/npm/bin/npx-cli.js @google/gemini-cli",
      "bun x @google/gemini-cli",
      "npx --package=@google/gemini-cli gemini",
    ])
      t.equal(runsProgram(line.split(" "), GEMINI), true, line);
    for (const line of [
      "npx @google/gemini-clip",
      "npx",
      "npm run gemini",
      "pnpm gemini-x",
      "npx @qwen-code/qwen-code",
    ])
      t.equal(runsProgram(line.split(" "), GEMINI), false, line);
    t.same(pids({ ...GEMINI, cmd: ["npx", "-y", "@google/gemini-cli"] }), [14, 30, 35]);
    t.equal(
      runsProgram(["npx", "@qwen-code/qwen-code"], { ...GEMINI, cmd: ["npx", "@google/gemini-cli"] }),
      false,
    );
  },
);
