/** Sends hook events of an agent to the host. */
import { once } from "node:events";
import http from "node:http";
import type { Nvim } from "../test/support/nvim.ts";
import { discoveryOf } from "./subject.ts";

/** The fields of a hook event that describe a tool. */
interface HookedTool {
  tool_name: string;
  tool_input: Readonly<Record<string, string>>;
}

/**
 * Sends a hook event.
 * @param event name of the event
 * @param about the name of a file in the workspace if the event is about an edit; otherwise, the fields of the tool
 */
export type TellHook = (event: string, about: string | HookedTool) => Promise<void>;

export function hookTo(nvim: Nvim): TellHook {
  const file = discoveryOf(nvim);
  let moment = 0;
  return async (hook_event_name, about) => {
    const tool =
      typeof about === "string"
        ? { tool_name: "write_file", tool_input: { file_path: nvim.path(about) } }
        : about;
    const body = {
      session_id: "bench",
      cwd: nvim.dirs.workspace,
      hook_event_name,
      timestamp: new Date(moment++),
      ...tool,
      tool_response: {},
      notification_type: "none",
    };
    // Opens a new connection, as each hook of a CLI does.
    const request = http.request({
      port: file.port,
      path: "/hook",
      method: "POST",
      agent: false,
      headers: {
        authorization: `Bearer ${file.content.authToken}`,
        "content-type": "application/json",
      },
    });
    request.end(JSON.stringify(body));
    const [response] = (await once(request, "response")) as [http.IncomingMessage];
    await once(response.resume(), "end");
  };
}
