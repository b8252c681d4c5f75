import fc from "fast-check";
import t from "tap";
import { parseHook } from "../../src/contract/hooks.ts";
import { fuzz } from "../support/fuzz.ts";

const BASE = {
  session_id: "a session",
  transcript_path: "",
  cwd: "/work space",
  timestamp: "2026-11-22T01:00:00.250Z",
};
const AT = Date.UTC(2026, 10, 22, 1, 0, 0, 250);

/** Returns an event without the fields that all events have. */
function meaning(name: string, fields: object, cli = "gemini") {
  const event = parseHook({ ...BASE, hook_event_name: name, ...fields }, { cli, pid: 7 });
  if (!event) return undefined;
  const { agent, at, ...rest } = event;
  t.same(agent, { cli, session: "a session", cwd: "/work space", pid: 7 });
  t.equal(at, AT);
  return rest;
}

const edit = (filePath: string, name = "write_file") => ({ kind: "edit", name, filePath });

t.test("Gemini CLI's hooks become events", async (t) => {
  t.same(meaning("BeforeAgent", { prompt: "go" }), {
    kind: "turn_started",
    prompt: "go",
    hook: "BeforeAgent",
  });
  t.same(meaning("AfterAgent", { prompt: "go", prompt_response: "done" }), { kind: "turn_ended" });
  t.same(meaning("SessionEnd", { reason: "exit" }), { kind: "session_ended" });
  const write = { tool_name: "write_file", tool_input: { file_path: "src/a.ts", content: "b\n" } };
  t.same(
    meaning("BeforeTool", write),
    { kind: "tool_starting", tool: edit("/work space/src/a.ts"), canAsk: true },
    "a path of the model's may be relative",
  );
  const returnDisplay = { filePath: "/real/src/a.ts", originalContent: "a\n", newContent: "b\n" };
  t.same(
    meaning("AfterTool", { ...write, tool_response: { llmContent: "ok", returnDisplay } }),
    { kind: "tool_ended", tool: edit("/real/src/a.ts"), failed: false },
    "the path that was written",
  );
  const replace = { tool_name: "replace", tool_input: { file_path: "/n.ts", old_string: "" } };
  t.same(
    meaning("AfterTool", { ...replace, tool_response: { returnDisplay: "Created n.ts" } }),
    { kind: "tool_ended", tool: edit("/n.ts", "replace"), failed: false },
    "a file that replace makes",
  );
  const error = { message: "no such text", type: "edit_no_occurrence_found" };
  t.same(meaning("AfterTool", { ...replace, tool_response: { returnDisplay: "x", error } }), {
    kind: "tool_ended",
    tool: edit("/n.ts", "replace"),
    failed: true,
  });
  const shell = { tool_name: "run_shell_command", tool_input: { command: "rm a" } };
  t.same(meaning("BeforeTool", shell), {
    kind: "tool_starting",
    tool: { kind: "shell", name: "run_shell_command", command: "rm a" },
    canAsk: true,
  });
  const remote = { tool_name: "mcp_x_y", tool_input: { file_path: 1, command: { a: 1 } } };
  t.same(meaning("AfterTool", { ...remote, tool_response: "any" }), {
    kind: "tool_ended",
    tool: { kind: "other", name: "mcp_x_y" },
    failed: false,
  });
});

t.test("a question that the CLI asks becomes an event", async (t) => {
  const asks = (details?: object) =>
    meaning("Notification", { notification_type: "ToolPermission", details });
  t.same(asks({ type: "edit", filePath: "/a", fileDiff: "", newContent: "" }), {
    kind: "permission_asked",
    tool: edit("/a", "edit"),
  });
  t.same(asks({ type: "exec", command: "ls" }), {
    kind: "permission_asked",
    tool: { kind: "shell", name: "exec", command: "ls" },
  });
  t.same(asks({ type: "mcp", serverName: "s", toolName: "y" }), {
    kind: "permission_asked",
    tool: { kind: "other", name: "y" },
  });
  t.same(asks(), { kind: "permission_asked", tool: { kind: "other", name: "other" } });
  t.equal(meaning("Notification", { notification_type: "auth_success", message: "" }), undefined);
});

t.test("Qwen Code's hooks become events", async (t) => {
  const qwen = (name: string, fields: object = {}) => meaning(name, fields, "qwen");
  t.match(qwen("UserPromptSubmit", { prompt: "go, and more", submitted_prompt: "go" }), {
    kind: "turn_started",
    prompt: "go",
    hook: "UserPromptSubmit",
  });
  t.match(qwen("UserPromptSubmit", { prompt: "go" }), {
    kind: "turn_started",
    prompt: "go",
    hook: "UserPromptSubmit",
  });
  t.equal(qwen("UserPromptSubmit", { prompt: "" }), undefined, "the answer of a tool is no prompt");
  const use = {
    tool_name: "edit",
    tool_input: { file_path: "/a" },
    tool_use_id: "1",
    permission_mode: "yolo",
  };
  t.same(qwen("PreToolUse", use), { kind: "tool_starting", tool: edit("/a", "edit"), canAsk: false });
  t.same(qwen("PermissionRequest", use), { kind: "permission_asked", tool: edit("/a", "edit") });
  const tool_response = { returnDisplay: { filePath: "/real/a" } };
  t.same(qwen("PostToolUse", { ...use, tool_response }), {
    kind: "tool_ended",
    tool: edit("/real/a", "edit"),
    failed: false,
  });
  t.same(qwen("PostToolUseFailure", { ...use, error: "no", is_interrupt: true }), {
    kind: "tool_ended",
    tool: edit("/a", "edit"),
    failed: true,
  });
  t.same(qwen("Stop"), { kind: "turn_ended" });
  t.same(qwen("StopFailure", { error: "rate_limit" }), { kind: "turn_ended" });
  t.same(qwen("Notification", { notification_type: "idle_prompt", message: "" }), { kind: "turn_ended" });
  t.equal(qwen("Notification", { notification_type: "permission_prompt", message: "" }), undefined);
});

t.test("a path that no system allows names no file", async (t) => {
  const long = `/${"x".repeat(4096)}`;
  const write = { tool_name: "write_file", tool_input: { file_path: long } };
  const ended = { kind: "tool_ended", tool: { kind: "other", name: "write_file" }, failed: false };
  const returnDisplay = { filePath: long, originalContent: "", newContent: "" };
  t.match(meaning("BeforeTool", write), { tool: { kind: "other", name: "write_file" } });
  t.same(meaning("AfterTool", { ...write, tool_response: { returnDisplay } }), ended);
  const details = { type: "edit", filePath: long, toolName: long };
  t.same(meaning("Notification", { notification_type: "ToolPermission", details }), {
    kind: "permission_asked",
    tool: { kind: "other", name: "edit" },
  });
});

t.test("input that is not a known hook event is refused", async (t) => {
  const parse = (input: unknown) => parseHook(input, { cli: "gemini" });
  const good = { ...BASE, hook_event_name: "AfterAgent" };
  t.ok(parse(good));
  for (const bad of [
    null,
    [],
    "AfterAgent",
    { ...good, hook_event_name: "BeforeModel" },
    { ...good, hook_event_name: "constructor" },
    { ...good, session_id: "" },
    { ...good, session_id: "x".repeat(257) },
    { ...good, cwd: "relative" },
    { ...good, cwd: `/${"x".repeat(4096)}` },
    { ...good, timestamp: "yesterday" },
    { ...good, hook_event_name: "BeforeAgent" },
    { ...good, hook_event_name: "BeforeTool", tool_name: "write_file" },
    { ...good, hook_event_name: "BeforeTool", tool_name: "x".repeat(4097), tool_input: {} },
  ])
    t.throws(() => parse(bad), { name: "ZodError" }, JSON.stringify(bad).slice(0, 80));
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom("AfterTool", "Notification", "BeforeTool"), (value, name) => {
      const event = parse({
        ...BASE,
        hook_event_name: name,
        notification_type: "ToolPermission",
        tool_name: "write_file",
        tool_input: { file_path: value, command: value },
        tool_response: value,
      });
      return event !== undefined && (event.kind === "permission_asked" || "tool" in event);
    }),
    fuzz(t, "arguments and answers of tools", 200),
  );
});

t.test("Claude Code's hooks tell which prompts and which ends belong to the running turn", async (t) => {
  const claude = (name: string, fields: object = {}) => meaning(name, fields, "claude");
  const prompted = (prompt: string) => claude("UserPromptSubmit", { prompt, prompt_id: "1" });
  t.match(prompted("go"), { kind: "turn_started", prompt: "go", turn: "1", isOwn: false });
  const notice = '<task-notification>\n<summary>Agent "sub" finished</summary>\n</task-notification>';
  t.match(prompted(notice), { kind: "turn_started", prompt: 'Agent "sub" finished', isOwn: true });
  const stop = (...background_tasks: object[]) => claude("Stop", { background_tasks });
  t.equal(stop({ id: "1", type: "subagent", status: "running" }), undefined, "a subagent goes on");
  for (const tasks of [
    [],
    [{ type: "subagent", status: "completed" }],
    [{ type: "shell", status: "running" }],
  ])
    t.same(stop(...tasks), { kind: "turn_ended" });
});
