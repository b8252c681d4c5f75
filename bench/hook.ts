/** Sends hook events of an agent to the host. */
import { readDiscovery } from "../test/support/client.ts";
import type { Nvim } from "../test/support/nvim.ts";

/** Sends a hook event about a file in the workspace. */
export type TellHook = (event: string, name: string) => Promise<void>;

export function hookTo(nvim: Nvim): TellHook {
  const [file] = readDiscovery(nvim.dirs.tmp);
  if (!file) throw new Error("no discovery file");
  let moment = 0;
  return async (hook_event_name, name) => {
    const body = {
      session_id: "bench",
      cwd: nvim.dirs.workspace,
      hook_event_name,
      timestamp: new Date(moment++),
      tool_name: "write_file",
      tool_input: { file_path: nvim.path(name) },
      tool_response: {},
      notification_type: "none",
    };
    await fetch(`http://127.0.0.1:${file.port}/hook`, {
      method: "POST",
      headers: { authorization: `Bearer ${file.content.authToken}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  };
}
