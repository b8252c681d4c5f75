/** Answers requests while there is no editor. */
import { DISCOVER, methodNotFound } from "../../http/errors.ts";

/** The inspected part of a JSON-RPC message. */
export interface Message {
  jsonrpc?: unknown;
  id?: unknown;
  method?: unknown;
  params?: unknown;
  result?: unknown;
  error?: unknown;
}

export interface Request extends Message {
  id: string | number;
  method: string;
}

/** Static answers of the server by method, generated with the bundle. */
export type Offer = Record<string, object | undefined>;

/** Supported versions of MCP. For other versions, the server answers with the first. */
const VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"];

/** Returns advice for the user, in a message to the model. */
function whatToDo(cwd: string): string {
  return (
    `No Neovim with gemini-bridge.nvim is open for ${cwd}. Ask the user to open Neovim in this directory and to run ` +
    ":GeminiStart in it; then ask again."
  );
}

export function answerAlone({ id, method, params }: Request, offer: Offer): Message {
  const answer = (result: unknown) => ({ jsonrpc: "2.0", id, result });
  switch (method) {
    case "initialize":
      return answer({ ...offer[method], protocolVersion: versionFor(params) });
    case "tools/list":
    case "prompts/list":
    case "resources/templates/list":
      return answer(offer[method]);
    case "resources/list":
      return answer({ resources: [] });
    case "tools/call":
      return answer({ isError: true, content: [{ type: "text", text: whatToDo(process.cwd()) }] });
    case DISCOVER:
      return methodNotFound(id);
    default:
      return { jsonrpc: "2.0", id, error: { code: -32002, message: whatToDo(process.cwd()) } };
  }
}

function versionFor(params: unknown): string | undefined {
  const asked = property(params, "protocolVersion");
  return VERSIONS.find((version) => version === asked) ?? VERSIONS[0];
}

/** A property of an unchecked value. */
export function property(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
