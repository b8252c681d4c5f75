/** The way to the editor: found when it is needed, and again when it has gone. */
import type { Message, Request } from "./alone.ts";
import { type Address, exchange, messagesOf } from "./http.ts";

export interface Upstream {
  /** Keeps how the client has introduced itself: so it is introduced to each editor. */
  introduce(request: Request): void;
  /** @returns the editor's answer; nothing when there is no editor */
  ask(request: Request): Promise<Message | undefined>;
  /** Passes on what needs no answer, to an editor that is known. */
  tell(message: Message): Promise<void>;
}

interface Session {
  address: Address;
  headers: Record<string, string>;
}

/** @param receive takes what the editor says unasked */
export function createUpstream(receive: (message: Message) => void): Upstream {
  let introduction: Request | undefined;
  let session: Promise<Session | undefined> | undefined;
  let sessions = 0;

  async function connect(): Promise<Session | undefined> {
    const { findNeovim } = await import("./find.ts");
    const address = await findNeovim();
    if (!address || !introduction) return undefined;
    const response = await exchange(address, {}, introduction);
    const id = response.headers["mcp-session-id"];
    let version = "";
    for await (const { result } of messagesOf(response)) version = versionOf(result);
    if (response.statusCode !== 200 || typeof id !== "string") return undefined;
    const opened = { address, headers: { "mcp-session-id": id, "mcp-protocol-version": version } };
    await drain(opened, { jsonrpc: "2.0", method: "notifications/initialized" });
    void listen(opened);
    sessions += 1;
    if (sessions > 1) {
      // Another editor, or the same one anew, may offer something else.
      for (const what of ["tools", "resources", "prompts"])
        receive({ jsonrpc: "2.0", method: `notifications/${what}/list_changed` });
    }
    return opened;
  }

  async function drain({ address, headers }: Session, message: Message): Promise<void> {
    (await exchange(address, headers, message)).resume();
  }

  /** Passes on the standing stream, for as long as it lasts. */
  async function listen({ address, headers }: Session): Promise<void> {
    const here = session;
    try {
      for await (const message of messagesOf(await exchange(address, headers))) receive(message);
    } catch {
      // It broke: the next question finds out whether the editor is still there.
    }
    if (session === here) session = undefined;
  }

  /** @returns the session; one that cannot be begun is tried again by the next question */
  async function current(): Promise<Session | undefined> {
    session ??= connect().catch(() => undefined);
    const found = await session;
    if (!found) session = undefined;
    return found;
  }

  /** @returns the answer, or why there is none: `gone` when the editor has not taken the question */
  async function pass({ address, headers }: Session, request: Request): Promise<Message | "gone"> {
    const response = await exchange(address, headers, request).catch(() => undefined);
    if (!response || response.statusCode === 404 || response.statusCode === 401) {
      response?.resume();
      return "gone";
    }
    try {
      for await (const message of messagesOf(response)) {
        if (message.id === request.id && message.method === undefined) return message;
        receive(message);
      }
    } catch {
      // What it has begun to do is not asked for twice.
    }
    const error = { code: -32603, message: "Neovim went away before it had answered" };
    return { jsonrpc: "2.0", id: request.id, error };
  }

  return {
    introduce(request) {
      introduction = request;
    },
    async ask(request) {
      for (let tries = 0; tries < 2; tries++) {
        const open = await current();
        const asked = session;
        const answer = open && (await pass(open, request));
        if (answer !== "gone") return answer;
        if (session === asked) session = undefined;
      }
      return undefined;
    },
    async tell(message) {
      const open = await session;
      if (open && message.method !== "notifications/initialized") await drain(open, message).catch(() => {});
    },
  };
}

function versionOf(result: unknown): string {
  return typeof result === "object" && result !== null && "protocolVersion" in result
    ? String(result.protocolVersion)
    : "";
}
