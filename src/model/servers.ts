/** Asks all language servers of a document, or all there are, the same. */

import { Refusal } from "../base/refusal.ts";
import type { Moment, Server } from "../contract/questions.ts";
import { oneLine } from "./format.ts";
import { encode, findSymbol } from "./lsp.ts";
import type { Scene } from "./tool.ts";

export interface Answered {
  server: Server;
  result: unknown;
  /** Of an answer with edits: the texts that it belongs to. */
  moment?: Moment | undefined;
}

export interface Replies {
  answered: Answered[];
  /** Why there is less than there could be, a sentence each. */
  remarks: string[];
}

/** Items of lists that a server may answer with; the rest is counted. */
const MAX_ITEMS = 500;
/** Of an edit a part is worse than nothing: a larger one is not made. */
const MAX_EDITS = 20_000;

interface Question {
  method: string;
  path?: string;
  /** For each server. */
  params: (server: Server) => Record<string, unknown>;
  /** What is answered is to be carried out, and nothing of it may be missing. */
  isEdit?: boolean;
}

export async function askServers(
  servers: readonly Server[],
  { method, path, params, isEdit = false }: Question,
  { ask, limits: { timeout } }: Scene,
): Promise<Replies> {
  const replies: Replies = { answered: [], remarks: [] };
  await Promise.all(
    servers.map(async (server) => {
      try {
        const limit = isEdit ? MAX_EDITS : MAX_ITEMS;
        const question = { server: server.id, path, method, params: params(server), timeout, limit, isEdit };
        const { result, total, moment } = await ask("request", question);
        if (total !== undefined && isEdit)
          throw new Refusal(`${server.name} wants ${total} edits, more than are made at once`);
        if (total !== undefined) replies.remarks.push(`${server.name} has found ${total} in all.`);
        replies.answered.push({ server, result, moment });
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        replies.remarks.push(`${oneLine(error.message)}.`);
      }
    }),
  );
  return replies;
}

/** Asks about a whole document. */
export async function askAboutDocument(method: string, path: string, scene: Scene): Promise<Replies> {
  const { servers, attached } = await scene.ask("document", { path, method, timeout: scene.limits.timeout });
  if (servers.length === 0) return none(attached, path, scene);
  return askServers(servers, { method, path, params: () => ({ textDocument: {} }) }, scene);
}

/** A symbol as models name it: they count lines well, and columns badly. */
export interface SymbolName {
  path: string;
  line: number;
  symbol: string;
}

/**
 * Asks about a symbol.
 * @throws {Refusal} when it is not on that line
 */
export async function askAboutSymbol(
  method: string,
  { path, line, symbol }: SymbolName,
  more: Record<string, unknown>,
  scene: Scene,
  isEdit = false,
): Promise<Replies> {
  const question = { path, method, line, timeout: scene.limits.timeout };
  const { servers, attached, text } = await scene.ask("document", question);
  const name = scene.workspace.label(path);
  if (text === undefined) throw new Refusal(`${name} has no line ${line}`);
  const character = findSymbol(text, symbol);
  if (character === undefined)
    throw new Refusal(`${oneLine(symbol)} is not on line ${line} of ${name}, which is: ${oneLine(text)}`);
  if (servers.length === 0) return none(attached, path, scene);
  const params = ({ encoding }: Server) => ({
    textDocument: {},
    position: { line: line - 1, character: encode(text, character, encoding) },
    ...more,
  });
  return askServers(servers, { method, path, params, isEdit }, scene);
}

function none(attached: number, path: string, { workspace }: Scene): Replies {
  const file = workspace.label(path);
  const reason =
    attached === 0 ? `No language server for ${file}.` : `No language server for ${file} knows that.`;
  return { answered: [], remarks: [reason] };
}
