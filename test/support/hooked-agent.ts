/** Simulates an agent whose CLI has hooks. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import type { RunningBridge } from "./bridge.ts";
import { runHook, SILENT } from "./hook.ts";
import { ask } from "./server.ts";

let moment = Date.now();

/**
 * An agent for a running bridge. Its tools change files, and its hooks report the tools over HTTP, as the hooks of a
 * CLI do.
 */
export class HookedAgent {
  /** Address to which the hooks report, from the environment of a CLI. */
  readonly #address;

  constructor(
    readonly bridge: Pick<RunningBridge, "file" | "nvim">,
    readonly session = "a session",
    /** Process id of the CLI. */
    readonly pid?: number,
  ) {
    const { port, content } = bridge.file();
    this.#address = { port, token: content.authToken };
  }

  /**
   * Sends the JSON of a hook on a new connection, as each hook of a CLI does.
   * @returns the answer, which may be empty
   */
  async hook(hook_event_name: string, fields: object = {}): Promise<string> {
    const { port, token } = this.#address;
    const { status, body } = await ask(port, {
      path: `/hook?pid=${this.pid ?? ""}`,
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify(this.#body(hook_event_name, fields)),
    });
    if (status >= 300) throw new Error(`the hook was answered with ${status}`);
    return body;
  }

  /** Sends the JSON through the script that CLIs run. Without a host, the script prints nothing. */
  async script(hook_event_name: string, fields: object = {}): Promise<void> {
    const { port, token } = this.#address;
    const env = { GEMINI_CLI_IDE_SERVER_PORT: String(port), GEMINI_CLI_IDE_AUTH_TOKEN: token };
    const result = await runHook(env, JSON.stringify(this.#body(hook_event_name, fields)));
    assert.deepEqual(result, SILENT);
  }

  #body(hook_event_name: string, fields: object): object {
    return {
      session_id: this.session,
      cwd: this.bridge.nvim.dirs.workspace,
      hook_event_name,
      timestamp: new Date(++moment).toISOString(),
      ...fields,
    };
  }

  prompt(prompt: string): Promise<string> {
    return this.hook("BeforeAgent", { prompt });
  }

  done(): Promise<string> {
    return this.hook("AfterAgent");
  }

  starts(name: string): Promise<string> {
    return this.hook("BeforeTool", this.edit(name));
  }

  ended(name: string): Promise<string> {
    return this.hook("AfterTool", { ...this.edit(name), tool_response: { llmContent: "ok" } });
  }

  /** Returns the fields of a hook about an edit of a file. */
  edit(name: string): object {
    return { tool_name: "write_file", tool_input: { file_path: this.bridge.nvim.path(name) } };
  }

  /** Writes a file without asking. Without `bytes`, deletes the file. */
  async write(name: string, bytes: string | Buffer | undefined): Promise<void> {
    await this.starts(name);
    if (bytes === undefined) rmSync(this.bridge.nvim.path(name), { force: true });
    else writeFileSync(this.bridge.nvim.path(name), bytes);
    await this.ended(name);
  }

  /** Runs a shell script in the workspace. */
  async run(command: string): Promise<void> {
    const tool = { tool_name: "run_shell_command", tool_input: { command } };
    await this.hook("BeforeTool", tool);
    execFileSync("sh", ["-ec", command], { cwd: this.bridge.nvim.dirs.workspace });
    await this.hook("AfterTool", { ...tool, tool_response: { llmContent: "ok" } });
  }
}
