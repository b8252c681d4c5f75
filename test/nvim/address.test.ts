/** Port and tokens stay for the lifetime of Neovim, so that what was started before a restart still finds the bridge. */
import { writeFileSync } from "node:fs";
import t from "tap";
import { startBridge } from "../support/bridge.ts";
import { runHook } from "../support/hook.ts";

let moment = 0;

t.test(
  "hooks and clients of before find the bridge after a restart, and after a stop and a start",
  async (t) => {
    const bridge = await startBridge(t, { files: { "1.txt": "one\n", "2.txt": "one\n" } });
    const { nvim } = bridge;
    const { port, content } = bridge.file();
    const tokens = "return require('gemini-bridge.bridge.status').get().tokens";
    const allTokens = await nvim.lua(tokens);
    const env = {
      GEMINI_CLI_IDE_SERVER_PORT: String(port),
      GEMINI_CLI_IDE_AUTH_TOKEN: content.authToken,
    };
    const hook = (hook_event_name: string, name: string) =>
      runHook(
        env,
        JSON.stringify({
          session_id: "s",
          cwd: nvim.dirs.workspace,
          hook_event_name,
          timestamp: new Date(++moment).toISOString(),
          tool_name: "write_file",
          tool_input: { file_path: nvim.path(name) },
          tool_response: { llmContent: "ok" },
        }),
      );

    for (const [name, commands] of [
      ["1.txt", ["GeminiRestart"]],
      ["2.txt", ["GeminiStop", "GeminiStart"]],
    ] as const) {
      const host = await bridge.host();
      for (const command of commands) {
        await nvim.command(command);
        if (command === "GeminiStop") await bridge.is("stopped");
      }
      await bridge.nextHost(host);
      t.match(bridge.file(), { port, content: { authToken: content.authToken } }, `${commands}`);
      t.same(await nvim.lua(tokens), allTokens, "those of the other CLIs, too");
      t.equal(await nvim.lua("return vim.env.GEMINI_CLI_IDE_SERVER_PORT"), String(port));

      await hook("BeforeTool", name);
      writeFileSync(nvim.path(name), "two\n");
      await hook("AfterTool", name);
      await nvim.waitFor(
        `vim.iter(require('gemini-bridge').changes()):any(function(file) return file.path == '${nvim.path(name)}' end)`,
        "the change",
      );
      t.same(await (await bridge.client()).openDiff(nvim.path("new.txt"), "new\n"), { content: [] });
    }
  },
);
