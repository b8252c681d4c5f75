// Generates the Lua side of the contract from the schemas in src/contract: classes for the language server, and the
// data with which lua/gemini-bridge/calls.lua checks calls.
// usage: contract.ts [--check]    --check writes nothing, and fails if the file differs
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { Boot } from "../src/contract/boot.ts";
import { calls, FileEdits, questions, ShownChange, ShownHunk, Turn } from "../src/contract/calls.ts";
import { Cli } from "../src/contract/clis.ts";
import { CLI_NAME } from "../src/contract/companion.ts";
import { Memory } from "../src/contract/memory.ts";
import { events, results } from "../src/contract/neovim.ts";
import { answers } from "../src/contract/questions.ts";
import { Decided, Editors, requests, ShownEntry } from "../src/contract/requests.ts";
import { Snapshot } from "../src/contract/snapshot.ts";
import { ClientInfo, Shared, Status } from "../src/contract/status.ts";

const LUA = join(import.meta.dirname, "../lua/gemini-bridge");
const FILE = join(LUA, "bridge/contract.lua");

const sources = readdirSync(LUA, { recursive: true, encoding: "utf8" })
  .map((name) => join(LUA, name))
  .filter((path) => path.endsWith(".lua") && path !== FILE)
  .map((path) => readFileSync(path, "utf8"));

type Schema = z.core.JSONSchema.BaseSchema;

const names = z.registry<{ id: string }>();
const shared = {
  ClientInfo,
  Shared,
  Decided,
  Editors,
  Memory,
  Boot,
  Snapshot,
  Turn,
  FileEdits,
  BootCli: Cli,
};
const renamed = { HostStatus: Status, Change: ShownChange, ChangeHunk: ShownHunk, HistoryEntry: ShownEntry };
const replies = Object.fromEntries(Object.entries(requests).map(([name, { result }]) => [name, result]));
const groups = { calls, results, events, questions, answers, replies };

for (const [id, schema] of Object.entries({ ...shared, ...renamed })) names.add(schema, { id });
for (const [group, schemas] of Object.entries(groups)) {
  for (const [name, schema] of Object.entries(schemas)) {
    if (!names.has(schema)) names.add(schema, { id: `${group}.${name}` });
  }
}

const { schemas } = z.toJSONSchema(names, { unrepresentable: "any", uri: (id) => id });

/** Translates a schema to a LuaCATS type. */
function typeOf(schema: Schema | boolean): string {
  if (typeof schema === "boolean") return "any";
  if (schema.$ref) return `gemini_bridge.${schema.$ref}`;
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join("|");
  const options = schema.anyOf ?? schema.oneOf;
  if (options) return [...new Set(options.map(typeOf))].join("|");
  if (schema.type === "array") {
    if (schema.prefixItems) return `[${schema.prefixItems.map(typeOf).join(", ")}]`;
    const item =
      typeof schema.items === "object" && !Array.isArray(schema.items) ? typeOf(schema.items) : "any";
    return item.includes("|") ? `(${item})[]` : `${item}[]`;
  }
  if (schema.type !== "object") return typeof schema.type === "string" ? schema.type : "any";
  const fields = fieldsOf(schema);
  if (fields.length > 0) return `{ ${fields.map(([name, type]) => `${name}: ${type}`).join(", ")} }`;
  return typeof schema.additionalProperties === "object"
    ? `table<string, ${typeOf(schema.additionalProperties)}>`
    : "table";
}

/**
 * Lists the fields of a schema.
 * @returns name, type and description of each field. The name of an optional field ends in `?`
 */
function fieldsOf({ properties = {}, required = [] }: Schema): [name: string, type: string, text: string][] {
  return Object.entries(properties).map(([name, schema]) => [
    required.includes(name) ? name : `${name}?`,
    typeOf(schema),
    typeof schema === "object" ? (schema.description ?? "") : "",
  ]);
}

function classOf(name: string, schema: Schema): string[] {
  const fields = fieldsOf(schema);
  if (fields.length === 0)
    return schema.anyOf ? [`---@alias gemini_bridge.${name} ${typeOf(schema)}`, ""] : [];
  const lines = fields.map(([field, type, text]) => `---@field ${field} ${type} ${text}`.trimEnd());
  return [`---@class gemini_bridge.${name}`, ...lines, ""];
}

/** Keeps only the classes that a Lua file or another kept class mentions. */
function onlyUsed(classes: Record<string, string[]>): string[] {
  const isUsed = (name: string, texts: string[]) =>
    texts.some((text) => new RegExp(`gemini_bridge\\.${name.replace(".", "\\.")}(?![\\w.])`).test(text));
  const used = new Map<string, string[]>();
  for (let size = -1; size < used.size; ) {
    size = used.size;
    for (const [name, lines] of Object.entries(classes)) {
      const others = [...used.values()].flatMap(([_, ...fields]) => fields);
      if (isUsed(name, [...sources, ...others])) used.set(name, lines);
    }
  }
  return Object.keys(classes).flatMap((name) => used.get(name) ?? []);
}

/** Returns the Lua type of a parameter. */
function luaTypeOf(schema: Schema | boolean | undefined): string {
  const type = typeof schema === "object" ? schema.type : undefined;
  if (type === "integer" || type === "number") return "number";
  return type === "string" || type === "boolean" ? type : "table";
}

/** Returns the required parameters of a call. */
function requiredOf([name, call]: [string, z.ZodType]): string {
  const { required = [], properties = {} } = schemas[names.get(call)?.id ?? ""] ?? {};
  const fields = required.map((field) => `${field} = "${luaTypeOf(properties[field])}"`);
  return `    ${name} = { ${fields.join(", ")} },`.replace("{  }", "{}");
}

const text = `--- The Lua side of src/contract: the classes that Lua uses, and the checks at run time. Written by \`make doc\`.
-- luacheck: no max line length
-- stylua: ignore start

${onlyUsed(Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, classOf(name, schema)]))).join("\n")}
return {
  --- The client name that Gemini CLI and derived CLIs report.
  CLI_NAME = ${JSON.stringify(CLI_NAME)},
  --- The required parameters of the calls from Node, with their types.
  CALLS = {
${Object.entries(calls).map(requiredOf).join("\n")}
  },
}
`;

if (!process.argv.includes("--check")) writeFileSync(FILE, text);
else if (readFileSync(FILE, "utf8") !== text) {
  console.error("lua/gemini-bridge/bridge/contract.lua differs from src/contract: run `make doc`");
  process.exitCode = 1;
}
