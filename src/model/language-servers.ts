/** Sends requests to language servers, and collects their answers. */
import { Refusal } from "../base/refusal.ts";
import type { Moment, Server } from "../contract/questions.ts";
import { oneLine } from "./format.ts";
import { encode, findSymbol } from "./symbol-position.ts";
import type { CallContext } from "./tool.ts";

export interface Answered {
  server: Server;
  result: unknown;
  /** Time and buffer versions of the request. Edits are valid only for these versions. */
  moment?: Moment | undefined;
}

export interface Replies {
  answered: Answered[];
  /** Sentences that tell the model why results may be missing. */
  remarks: string[];
}

/** Maximum number of items in an answer. Further items are counted, but not returned. */
const MAX_ITEMS = 500;
/**
 * Maximum number of edits in an answer. A longer answer is refused, because applying only some of the edits would break
 * the code.
 */
const MAX_EDITS = 20_000;

interface Question {
  method: string;
  path?: string;
  params: (server: Server) => Record<string, unknown>;
  /** True if the answer contains edits. Edits must be complete. */
  isEdit?: boolean;
}

export async function askServers(
  servers: readonly Server[],
  { method, path, params, isEdit = false }: Question,
  { ask, limits: { timeout } }: CallContext,
): Promise<Replies> {
  const replies: Replies = { answered: [], remarks: [] };
  await Promise.all(
    servers.map(async (server) => {
      try {
        const limit = isEdit ? MAX_EDITS : MAX_ITEMS;
        const question = { server: server.id, path, method, params: params(server), timeout, limit, isEdit };
        const { result, total, moment } = await ask("request", question);
        if (total !== undefined && isEdit)
          throw new Refusal(
            `${server.name} proposes ${total} edits, more than the limit of ${MAX_EDITS}: nothing was changed`,
          );
        if (total !== undefined)
          replies.remarks.push(`${server.name} found ${total} results, but not all of them are listed.`);
        replies.answered.push({ server, result, moment });
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        replies.remarks.push(`${oneLine(error.message)}.`);
      }
    }),
  );
  return replies;
}

/** Sends a request about a whole document to the language servers of the document. */
export async function askAboutDocument(method: string, path: string, context: CallContext): Promise<Replies> {
  const { servers, attached } = await context.ask("document", {
    path,
    method,
    timeout: context.limits.timeout,
  });
  if (servers.length === 0) return none(attached, path, context);
  return askServers(servers, { method, path, params: () => ({ textDocument: {} }) }, context);
}

/** A symbol, identified by line and name, because models do not know columns. */
interface SymbolName {
  /** As the model has named the file. */
  path: string;
  line: number;
  symbol: string;
}

/**
 * Sends a request about a symbol to the language servers of the document.
 * @throws {Refusal} if the model may not see the file, or if the line does not contain the symbol
 */
export async function askAboutSymbol(
  method: string,
  { path: named, line, symbol }: SymbolName,
  more: Record<string, unknown>,
  context: CallContext,
  isEdit = false,
): Promise<Replies> {
  const path = await context.workspace.file(named);
  const { servers, attached, text, name } = await openAtLine(method, path, line, context);
  const character = findSymbol(text, symbol);
  if (character === undefined)
    throw new Refusal(
      `Line ${line} of ${name} does not contain ${oneLine(symbol)}. The line is: ${oneLine(text)}`,
    );
  if (servers.length === 0) return none(attached, path, context);
  const params = ({ encoding }: Server) => ({
    textDocument: {},
    position: { line: line - 1, character: encode(text, character, encoding) },
    ...more,
  });
  return askServers(servers, { method, path, params, isEdit }, context);
}

/** Opens a document for a request about one of its lines. @throws {Refusal} if the document has no such line */
export async function openAtLine(
  method: string,
  path: string,
  line: number,
  { ask, limits: { timeout }, workspace }: CallContext,
) {
  const { text, ...document } = await ask("document", { path, method, line, timeout });
  const name = workspace.label(path);
  if (text === undefined) throw new Refusal(`${name} has no line ${line}`);
  return { ...document, text, name };
}

function none(attached: number, path: string, { workspace }: CallContext): Replies {
  const file = workspace.label(path);
  const reason =
    attached === 0
      ? `No language server is attached to ${file}.`
      : `No language server of ${file} supports this request.`;
  return { answered: [], remarks: [reason] };
}
