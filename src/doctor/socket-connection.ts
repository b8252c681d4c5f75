/** Checks whether a CLI connects by WebSocket without asking, and opens its diffs in the editor. */
import { dirname, join } from "node:path";
import * as z from "zod";
import { SOCKET_TOKEN_HEADER } from "../contract/companion.ts";
import { expand } from "../profiles/discovery-paths.ts";
import type { Profile } from "../profiles/profiles.ts";
import { readJson } from "../system/small-file.ts";
import type { Bridge } from "./contract.ts";
import type { Findings } from "./findings.ts";
import type { Searcher } from "./gemini-connection.ts";
import { announcedFile } from "./other-cli-connection.ts";
import { answerOf } from "./port-check.ts";

/** Headers of a WebSocket handshake. The bridge accepts them together with the right token. */
const HANDSHAKE = {
  Connection: "Upgrade",
  Upgrade: "websocket",
  "Sec-WebSocket-Version": "13",
  "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
  "Sec-WebSocket-Protocol": "mcp",
};

const Lock = z.object({ authToken: z.string().regex(/^[\w-]+$/) });

/** Checks that the bridge accepts the token in the lock file. Another program may have replaced the lock file. */
export async function checkToken(findings: Findings, profile: Profile, bridge: Bridge): Promise<void> {
  const path = announcedFile(profile, bridge);
  if (path === undefined || bridge.state !== "running") return;
  const { authToken = "" } = readJson(path, Lock) ?? {};
  const headers = { ...HANDSHAKE, [SOCKET_TOKEN_HEADER]: authToken };
  const answer = await answerOf(bridge.port, "/", headers);
  if (answer?.includes(" 101")) findings.ok("The bridge accepts the token in the lock file");
  else
    findings.error(
      `The CLI cannot connect, because the bridge does not accept the token in ${path}`,
      ":GeminiRestart, then type `/ide` in the CLI",
    );
}

/** The state file of a CLI, with the user's choices in the CLI's menus. */
const State = z.object({ diffTool: z.string().optional().catch(undefined) });

export function checkSocket(
  findings: Findings,
  { profile, env, bridge }: Searcher & { readonly profile: Profile },
  variable: string | undefined,
): void {
  if (variable === undefined) return; // the CLI finds the port in the lock file
  const port = env[variable];
  if (port !== undefined && (!bridge || port === String(bridge.port)))
    findings.ok(`The CLI connects by itself, because ${variable} names the port`);
  else
    findings.info(
      `The CLI connects only after you type \`/ide\` in it, because ${variable} does not name the port`,
    );
  const path = statePath(profile, env);
  if (readJson(path, State)?.diffTool === "terminal")
    findings.warn(
      `The CLI shows diffs only in its terminal ("diffTool" in ${path})`,
      'set "diffTool" to "auto" in that file, or with `/config` in the CLI',
    );
}

/**
 * Returns the path of the CLI's state file. If a variable names the settings folder, the state file is in this folder,
 * otherwise beside the folder.
 */
function statePath({ settings }: Profile, env: Searcher["env"]): string {
  const folder = dirname(expand(settings.files[0] ?? "", env));
  const isNamed = folder !== expand(`~/${settings.folder}`, env);
  return `${isNamed ? join(folder, settings.folder) : folder}.json`;
}
