/** Checks all messages between Lua and the host against src/contract. */
import type { NeovimClient } from "neovim";
import type { z } from "zod";
import { calls, questions } from "../../src/contract/calls.ts";
import { events, requests, results } from "../../src/contract/neovim.ts";
import { answers } from "../../src/contract/questions.ts";

const METHOD = "contract_check";

/** The content of a question, a request or an answer. */
type Content = Partial<Record<"id" | "name" | "params" | "result" | "error", unknown>>;

/** Lua for the start of init.lua: records all messages. {@link checkContract} reads the records. */
export const REPORT_MESSAGES = `
do
  local rpcnotify, kept, channel = vim.rpcnotify, {}, nil
  --- Cuts long texts and lists: their elements have the same shape.
  local function shorten(value)
    if type(value) == 'string' then
      return #value > 10000 and value:sub(1, 10000) or value
    elseif type(value) ~= 'table' then
      return value
    end
    local copy = setmetatable({}, getmetatable(value))
    for key, item in pairs(value) do
      if type(key) ~= 'number' or key <= 1000 then copy[key] = shorten(item) end
    end
    return copy
  end
  local function report(kind, name, payload)
    if channel then
      pcall(rpcnotify, channel, '${METHOD}', kind, name, payload)
    else
      table.insert(kept, { kind, name, shorten(payload) })
    end
  end
  vim.rpcnotify = function(id, method, name, payload)
    if method == 'gemini_bridge' then report('event', name, shorten(payload)) end
    return rpcnotify(id, method, name, payload)
  end
  package.preload['gemini-bridge.calls'] = function()
    local rpc = dofile(vim.api.nvim_get_runtime_file('lua/gemini-bridge/calls.lua', false)[1])
    local call = rpc.call
    function rpc.call(name, params, start)
      report('call', name, shorten(params))
      local answer = call(name, params, start)
      if not answer.error then report('result', name, shorten(answer.result)) end
      return answer
    end
    return rpc
  end
  package.loaded['${METHOD}'] = function(id)
    channel = id
    for _, message in ipairs(kept) do report(unpack(message)) end
    kept = {}
  end
end
`;

/** Returns all messages that do not match the contract. */
export async function checkContract(client: NeovimClient): Promise<string[]> {
  const problems: string[] = [];
  /** Names of the questions of the model and of the requests of Lua, by kind and id. */
  const asked = new Map<string, string>();
  const schemas: Record<string, Readonly<Record<string, z.ZodType>>> = {
    event: events,
    call: calls,
    result: results,
    question: questions,
    answer: answers,
    request: Object.fromEntries(Object.entries(requests).map(([name, { params }]) => [name, params])),
    reply: Object.fromEntries(Object.entries(requests).map(([name, { result }]) => [name, result])),
  };

  function check(kind: string, name: string, message: unknown): unknown {
    if (kind === "result" && Object.hasOwn(calls, name) && !Object.hasOwn(results, name)) return message; // not awaited
    const schema = schemas[kind]?.[name];
    const parsed = schema?.safeParse(message);
    const problem = !parsed
      ? "is not declared"
      : parsed.success
        ? undeclared(message, parsed.data)
        : parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; ");
    if (problem !== undefined) problems.push(`${kind} ${name} ${problem}`);
    return message;
  }

  function checkAsked(kind: string, id: unknown, name: unknown, params: unknown): void {
    asked.set(`${kind} ${id}`, String(name));
    check(kind, String(name), params);
  }

  function checkAnswer(kind: string, askedAs: string, { id, result, error }: Content): void {
    if (error === undefined) check(kind, asked.get(`${askedAs} ${id}`) ?? "", result);
  }

  const contents: Record<string, (content: Content) => void> = {
    "call request": ({ id, name, params }) => checkAsked("question", id, name, params),
    "event answered": (answer) => checkAnswer("answer", "question", answer),
    "event request": ({ id, name, params }) => checkAsked("request", id, name, params),
    "call answered": (answer) => checkAnswer("reply", "request", answer),
  };

  client.on("notification", (method: string, [kind, name, payload]: [string, string, unknown]) => {
    if (method !== METHOD) return;
    const message = withoutNulls(payload);
    check(kind, name, message);
    contents[`${kind} ${name}`]?.((message ?? {}) as Content);
  });
  const channel = await client.channelId;
  await client.request("nvim_exec_lua", [`package.loaded['${METHOD}'](...)`, [channel]]);
  return problems;
}

/** Removes nulls from a call, as Lua does. In Lua, `vim.NIL` also counts as no value. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== "object" || value === null) return value ?? undefined;
  const entries = Object.entries(value).filter(([_, item]) => item !== null);
  return Object.fromEntries(entries.map(([key, item]) => [key, withoutNulls(item)]));
}

/**
 * Finds a field that the contract does not declare. Parsing removes such fields, so the parsed message lacks the field.
 */
function undeclared(message: unknown, parsed: unknown): string | undefined {
  if (message === parsed || typeof message !== "object" || typeof parsed !== "object" || !message || !parsed)
    return undefined;
  for (const [key, value] of Object.entries(message)) {
    if (!Object.hasOwn(parsed, key)) return `has an undeclared field ${key}`;
    const problem = undeclared(value, (parsed as Record<string, unknown>)[key]);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
