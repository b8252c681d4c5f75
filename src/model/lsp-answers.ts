/** Parses answers of language servers (Language Server Protocol 3.17). Drops invalid parts. */
import { fileURLToPath } from "node:url";
import * as z from "zod";
import { attempt } from "../base/attempt.ts";

const Position = z.object({
  line: z.number().int().nonnegative(),
  character: z.number().int().nonnegative(),
});
export const Range = z.object({ start: Position, end: Position });

const Location = z.object({ uri: z.string(), range: Range });
const LocationLink = z
  .object({ targetUri: z.string(), targetSelectionRange: Range })
  .transform(({ targetUri, targetSelectionRange }) => ({ uri: targetUri, range: targetSelectionRange }));
const AnyLocation = z.union([Location, LocationLink]);

/**
 * A place in a file. `line` and `character` are 0-based. `character` counts units of the language server's encoding.
 */
export interface Place {
  path: string;
  line: number;
  character: number;
}

/** Converts a URI to a path. @returns undefined if the URI does not name a file on this machine */
export function pathOf(uri: string): string | undefined {
  return attempt(() => fileURLToPath(uri));
}

function all<T>(schema: z.ZodType<T>, value: unknown): T[] {
  const values = Array.isArray(value) ? value : [value];
  return values.flatMap((one) => {
    const parsed = schema.safeParse(one);
    return parsed.success ? [parsed.data] : [];
  });
}

/** Parses the result of a request for definitions, references or implementations. */
export function placesOf(result: unknown): Place[] {
  return all(AnyLocation, result).flatMap(({ uri, range }) => {
    const path = pathOf(uri);
    return path === undefined ? [] : [{ path, ...range.start }];
  });
}

const KINDS = (
  "file module namespace package class method property field constructor enum interface function variable constant " +
  "string number boolean array object key null member struct event operator type"
).split(" ");

export interface CodeSymbol extends Place {
  name: string;
  kind: string;
  /** Names of the enclosing symbols, outermost first. */
  container: string[];
}

const Named = z.object({ name: z.string(), kind: z.number().int() });
const FlatSymbol = Named.extend({ location: Location, containerName: z.string().nullish() });
const TreeSymbol = Named.extend({ selectionRange: Range, children: z.array(z.unknown()).nullish() });

/** Maximum depth of nested symbols. Source code has far fewer levels. */
const MAX_DEPTH = 30;

/**
 * Parses a list of symbols.
 * @param result result of `textDocument/documentSymbol` or `workspace/symbol`
 * @param path path of the document; undefined for `workspace/symbol`
 */
export function symbolsOf(result: unknown, path?: string, container: string[] = []): CodeSymbol[] {
  const flat = all(FlatSymbol, result).flatMap(({ name, kind, location, containerName }) => {
    const file = pathOf(location.uri);
    if (file === undefined) return [];
    const outer = containerName ? [containerName] : [];
    return [{ path: file, name, kind: kindOf(kind), container: outer, ...location.range.start }];
  });
  if (path === undefined || container.length > MAX_DEPTH) return flat;
  const tree = all(TreeSymbol, result).flatMap(({ name, kind, selectionRange, children }) => [
    { path, name, kind: kindOf(kind), container, ...selectionRange.start },
    ...symbolsOf(children ?? [], path, [...container, name]),
  ]);
  return [...flat, ...tree];
}

function kindOf(kind: number): string {
  return KINDS[kind - 1] ?? "symbol";
}

const Markup = z.union([z.string(), z.object({ value: z.string() }).transform(({ value }) => value)]);
const Hover = z.object({ contents: z.union([Markup, z.array(Markup)]) });

/** Returns the text of a hover result; an empty string if there is none. */
export function hoverText(result: unknown): string {
  const parsed = Hover.safeParse(result);
  if (!parsed.success) return "";
  return [parsed.data.contents].flat().join("\n\n").trim();
}
