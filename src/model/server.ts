/**
 * Creates the MCP server `neovim`. It gives the model information from the editor, and lets the model act in the
 * editor.
 */
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { Log } from "../base/log.ts";
import { Refusal } from "../base/refusal.ts";
import type { Boot, Status } from "../contract/neovim.ts";
import type { Diagnostic } from "../contract/questions.ts";
import type { SessionInfo } from "../http/client.ts";
import type { Sdk, Session, Sessions } from "../http/sessions.ts";
import type { Bridge, EventHandlers } from "../neovim/bridge.ts";
import { createFiles } from "../sharing/files.ts";
import { editsAs, type Following } from "./edits-as-agent.ts";
import { createAsking } from "./neovim-questions.ts";
import { type Caller, type Progress, startProgress } from "./progress.ts";
import { register } from "./register.ts";
import { createResourceUpdates } from "./resource-updates.ts";
import type { Read } from "./resources.ts";
import type { CallContext } from "./tool.ts";
import { openWorkspace } from "./workspace.ts";

export { EDITOR_OFFER } from "./register.ts";

/** Timeout for diagnostics. Short, because a CLI waits for diagnostics before it writes a file or sends a prompt. */
const DIAGNOSE_TIMEOUT_MS = 1_000;

export interface EditorServer {
  /**
   * Returns the diagnostics that Neovim has now. Does not ask language servers.
   * @param path a file. Default: all loaded files
   * @throws {Refusal} while sharing is paused, and if Neovim does not answer
   */
  diagnose(path?: string): Promise<Diagnostic[]>;
  readonly handlers: Pick<EventHandlers, "model_changed">;
  /** Ends all pending requests. Idempotent. */
  close(): void;
}

export interface EditorServerOptions {
  bridge: Pick<Bridge, "ask" | "tell">;
  log: Log;
  boot: Pick<Boot, "options" | "answers">;
  following: Following;
  /** Events of the sessions to serve. Sessions that exist already are not served. */
  events: Sessions["events"];
  report: (change: Pick<Status, "calls" | "toolClients">) => void;
}

export function createEditorServer({
  bridge,
  log,
  boot,
  following,
  events,
  report,
}: EditorServerOptions): EditorServer {
  const limits = boot.answers;
  const asking = createAsking(bridge, limits.timeout);
  const updates = createResourceUpdates(bridge);
  const files = createFiles({
    report: ({ file, reason }) => log.warn(`the model is shown no file below: ${file} ${reason}`),
  });
  let calls = 0;

  async function contextOf(
    info: SessionInfo,
    { signal }: Caller,
    { waitsFor }: Progress,
  ): Promise<CallContext> {
    waitsFor("Neovim");
    return {
      signal,
      limits,
      workspace: openWorkspace(await asking.ask("consent", {}, signal), files),
      editing: editsAs(info, following, signal),
      log,
      waitsFor,
      ask(question, params) {
        waitsFor("timeout" in params ? "language servers" : "Neovim");
        return asking.ask(question, params, signal);
      },
    };
  }

  /**
   * Answers a request of a CLI's model. Logs internal errors, but hides them from the model.
   * @throws {Refusal} for every failure
   */
  async function run<T>(
    what: string,
    info: SessionInfo,
    caller: Caller,
    act: (context: CallContext) => Promise<T>,
  ): Promise<T> {
    const from = `${info.credential} ${info.id.slice(0, 8)}`;
    const started = performance.now();
    const progress = startProgress(caller);
    try {
      const result = await act(await contextOf(info, caller, progress));
      log.info(`${what} for ${from}: ${Math.round(performance.now() - started)} ms`);
      return result;
    } catch (error) {
      if (caller.signal.aborted) {
        log.info(`${what} for ${from} was cancelled`);
        throw new Refusal("cancelled");
      }
      if (error instanceof Refusal) {
        log.info(`${what} for ${from} was refused:`, error.message);
        throw error;
      }
      log.error(`${what} for ${from} failed:`, error);
      throw new Refusal("Neovim failed to answer; :GeminiLog shows the reason");
    } finally {
      progress.end();
    }
  }

  function created(server: McpServer, session: Session, sdk: Sdk): void {
    const choice = { offered: boot.options.tools, prompts: boot.options.prompts };
    const read: Read = (what, caller, act) => run(what, session.info, caller, act);
    const callTool: Read = (what, caller, act) => {
      calls += 1;
      report({ calls });
      return read(what, caller, act);
    };
    updates.follow(session, register(server, sdk, choice, { read, callTool }, updates.watch));
  }

  events
    .on("created", created)
    .on("connected", updates.watch)
    .on("disconnected", updates.watch)
    .on("ended", updates.ended);
  return {
    async diagnose(path) {
      const signal = AbortSignal.timeout(DIAGNOSE_TIMEOUT_MS);
      const workspace = openWorkspace(await asking.ask("consent", {}, signal), files);
      const paths = path
        ? [path]
        : (await asking.ask("buffers", {}, signal)).buffers.map((buffer) => buffer.path);
      const question = {
        paths: [...(await workspace.shared(paths))],
        unopened: [],
        severity: 4,
        limit: limits.items,
      };
      return (await asking.ask("diagnostics", question, signal)).items;
    },
    handlers: { model_changed: updates.changed },
    close() {
      asking.close();
      updates.close();
      files.close();
    },
  };
}
