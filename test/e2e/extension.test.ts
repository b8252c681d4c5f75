/** The extension, installed by the real CLI: what it brings outside of Neovim's terminals. */
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { startBridge } from "../support/bridge.ts";
import { examine } from "../support/doctor.ts";
import { startModel } from "../support/model.ts";
import { root } from "../support/nvim.ts";
import { makeEnv, withEnv, writeFiles } from "../support/sandbox.ts";

const SETTINGS = {
  security: { auth: { selectedType: "gemini-api-key" } },
  ide: { enabled: false, hasSeenNudge: true },
  general: { enableAutoUpdate: false },
  privacy: { usageStatisticsEnabled: false },
};

t.test(":GeminiExtension", async (t) => {
  const model = await startModel(t);
  const cliEnv = {
    PATH: [join(root, "node_modules/.bin"), dirname(process.execPath), process.env["PATH"]].join(delimiter),
    GEMINI_API_KEY: "any",
    GOOGLE_GEMINI_BASE_URL: model.url,
    http_proxy: "http://127.0.0.1:9",
  };
  const { nvim } = await startBridge(t, {
    files: { "notes.md": "# Notes\n", "../home/.gemini/settings.json": JSON.stringify(SETTINGS) },
    args: ["notes.md"],
    env: cliEnv,
  });
  const record = join(nvim.dirs.home, ".gemini/extensions/gemini-bridge/.gemini-extension-install.json");
  const says = (pattern: RegExp) =>
    nvim.waitFor(async () => pattern.test(await nvim.messages()), `${pattern}`, 30_000);
  const installation = async () => (await examine(nvim))["Installation"];

  t.match(await installation(), "The extension is not installed in Gemini CLI");
  await nvim.command("GeminiExtension install gemini");
  await says(/The extension is installed in gemini: start it again to have it/);
  t.match(JSON.parse(readFileSync(record, "utf8")), { source: join(root, "extension"), type: "link" });
  t.match(await installation(), /OK The extension is installed in Gemini CLI/);
  const trusted = JSON.parse(readFileSync(join(nvim.dirs.home, ".gemini/trustedFolders.json"), "utf8"));
  t.same(Object.keys(trusted), [join(root, "extension")], "no folder of the user's became trusted by it");

  await t.test("a CLI outside of Neovim asks it", async (t) => {
    model.say([{ functionCall: { name: "mcp_neovim_buffers", args: {} } }], [{ text: "One file is open." }]);
    const [file = "", ...args] = withEnv(
      { ...makeEnv(nvim.dirs), ...cliEnv, GEMINI_CLI_TRUST_WORKSPACE: "true", no_proxy: "127.0.0.1" },
      ["gemini", "--yolo", "-p", "What is open"],
    );
    const { stdout } = await promisify(execFile)(file, args, { cwd: nvim.dirs.workspace, timeout: 60_000 });
    t.match(stdout, "One file is open.");
    t.match(model.promptText(), "1 file open\\nnotes.md, 1 line");
    t.match(JSON.stringify(model.requests), "the user works in Neovim, and it knows", "its GEMINI.md");
  });

  await nvim.command("GeminiExtension remove gemini");
  await says(/The extension is removed from gemini/);
  t.notOk(existsSync(record));
  await nvim.command("GeminiExtension update");
  await says(/takes install or remove/);
  await nvim.command("GeminiExtension install nobody");
  await says(/nobody has no extensions/);
});

t.test("a link to a folder that is gone", async (t) => {
  const model = await startModel(t);
  const { nvim } = await startBridge(t, {
    files: { "../home/.gemini/settings.json": JSON.stringify(SETTINGS) },
    env: {
      PATH: [join(root, "node_modules/.bin"), dirname(process.execPath), process.env["PATH"]].join(delimiter),
      GOOGLE_GEMINI_BASE_URL: model.url,
      http_proxy: "http://127.0.0.1:9",
    },
  });
  const gone = join(nvim.dirs.home, "gone");
  const folder = ".gemini/extensions/gemini-bridge";
  writeFiles(nvim.dirs.home, {
    [`${folder}/.gemini-extension-install.json`]: JSON.stringify({ source: gone, type: "link" }),
  });
  t.match(
    (await examine(nvim))["Installation"],
    `The extension in Gemini CLI leads to ${gone}, which is gone`,
  );
  await nvim.command("GeminiExtension remove");
  await nvim.waitFor(
    async () => /The extension is removed from gemini/.test(await nvim.messages()),
    "the message",
    30_000,
  );
  t.notOk(existsSync(join(nvim.dirs.home, folder)));
});
