/** Measures hooks in the way that the CLI runs them: one after the other. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { root } from "../../test/support/nvim.ts";
import { summarize, takeTurns, time } from "../stats.ts";
import { discoveryOf, ours, startBridge, within } from "../subject.ts";
import { type Row, row } from "../table.ts";

const SCRIPT = join(root, "extension/hooks/hook.sh");

/** Returns the inputs of two hooks, before and after an edit. Each input contains the whole file. */
function inputs(size: number): ((moment: number) => string)[] {
  const content = "a line of text\n".repeat(size / 15);
  const returnDisplay = { filePath: "/w/a.txt", originalContent: content, newContent: content };
  const edit = { tool_name: "write_file", tool_input: { file_path: "/w/a.txt", content } };
  return [
    ["BeforeTool", edit] as const,
    ["AfterTool", { ...edit, tool_response: { llmContent: "", returnDisplay } }] as const,
  ].map(
    ([hook_event_name, fields]) =>
      (moment) =>
        JSON.stringify({
          session_id: "bench",
          cwd: "/w",
          hook_event_name,
          timestamp: new Date(moment),
          ...fields,
        }),
  );
}

interface Place {
  env: Record<string, string | undefined>;
  cwd?: string;
}

async function run(command: string, { env, cwd }: Place, input: string): Promise<void> {
  // Sets SHLVL, as terminals do. Without SHLVL, bash would first read ~/.bashrc.
  const hook = spawn("bash", ["-c", command], { env: { ...process.env, SHLVL: "1", ...env }, cwd });
  hook.stdin.on("error", () => {}); // the hook may end without reading its input
  hook.stdin.end(input);
  hook.stdout.resume();
  await once(hook, "close");
}

export async function hookRows(): Promise<Row[]> {
  return within(async (scope) => {
    const { nvim } = await startBridge(scope, ours);
    const file = discoveryOf(nvim);
    const TMPDIR = nvim.dirs.tmp;
    const variables = {
      GEMINI_CLI_IDE_SERVER_PORT: String(file.port),
      GEMINI_CLI_IDE_AUTH_TOKEN: file.content.authToken,
    };
    const here = { env: { ...variables, TMPDIR } };
    const gone = { env: { ...here.env, GEMINI_CLI_IDE_SERVER_PORT: "1", TMPDIR: nvim.dirs.cache } };
    let moment = 0;
    const edit = (commands: readonly string[], place: Place, size: number) => {
      const both = inputs(size);
      return () =>
        time(async () => {
          for (const [i, input] of both.entries()) await run(commands[i] ?? "", place, input(moment++));
        });
    };
    const hooks = ["", " notice"].map((more) => `. '${SCRIPT}' GEMINI_CLI_IDE${more} 2>/dev/null || :`);
    const [small, nobody, least] = await takeTurns(40, [
      edit(hooks, here, 1_000),
      edit(hooks, gone, 1_000),
      edit([":", ":"], here, 1_000),
    ]);
    const floor = summarize(least);
    return [
      row("hooks of an edit, before and after, 1 KB", "ms", small, { floor, goal: { most: 30 } }),
      row("the same without a host", "ms", nobody, { floor, goal: { most: 30 } }),
    ];
  });
}
