/**
 * Defines the status of the bridge, which the host sends to Lua (part of CONTRACT 1). The host imports only types from
 * this file, so that the schemas do not delay its start.
 */
import * as z from "zod";

const Activity = z.enum(["idle", "working", "waiting"]);
export type Activity = z.infer<typeof Activity>;

/** A connected CLI. */
export const ClientInfo = z.object({
  id: z.string().describe("Session id."),
  cli: z.string().describe("Name of the CLI in the option `clis`."),
  label: z.string().describe("Name of that CLI for the user."),
  name: z.string(),
  version: z.string(),
  connectedAt: z.number().describe("Unix milliseconds."),
  port: z.int().optional().describe("The CLI's port of the connection of its event stream."),
  // While `interrupted` is true, Gemini CLI sends nothing, but still reads the events of its session. Therefore, no
  // decision is lost.
  interrupted: z
    .boolean()
    .describe('Whether the CLI shows "Disconnected" until the user types `/ide enable` there.'),
  activity: Activity.describe("Activity of the agent, according to its hooks and its open reviews."),
  turn: z.boolean().describe("Whether a turn of the agent runs, according to its hooks."),
  hooks: z
    .boolean()
    .describe(
      "Whether a hook of the CLI was received. Without hooks, its edits are neither tracked nor gated.",
    ),
  hooksOff: z
    .string()
    .optional()
    .describe("Why the hooks of the CLI are off, as the end of a sentence, if they are."),
  terminal: z.string().optional().describe("The terminal of `:Gemini` in which the CLI runs, if known."),
});
export type ClientInfo = z.infer<typeof ClientInfo>;

/** The context that connected CLIs have now. */
export const Shared = z.object({
  paused: z.boolean().describe("Whether the user has paused sharing, or has not allowed it yet."),
  files: z.array(z.string()).describe("Absolute paths of the open files, the last focused first."),
  active: z.string().optional().describe("Path of the active file."),
  selected: z.int().optional().describe("Length of the selected text (UTF-16 units)."),
  excluded: z.string().optional().describe("Path of the active file if it must not be shared."),
});
export type Shared = z.infer<typeof Shared>;

/**
 * The status of the bridge. The host sends it on each change, so that the Lua function `status()` need not ask the
 * host.
 */
export const Status = z.object({
  state: z.enum(["starting", "running", "stopping", "stopped"]),
  version: z.string().optional().describe("Version of the plugin."),
  build: z
    .string()
    .optional()
    .describe("Identifies the build of the host, to detect a host that predates an update."),
  port: z.int().optional(),
  pid: z.int().optional().describe("Process id of the Node host."),
  discoveryFiles: z.array(z.string()).optional().describe("One for each kind of CLI."),
  tokens: z.record(z.string(), z.string()).optional().describe("By CLI. Stored in Lua for the next host."),
  workspace: z.array(z.string()),
  clients: z.array(ClientInfo),
  hooks: z.boolean().optional().describe("Whether a hook of any CLI was received, connected or not."),
  obstacles: z
    .record(z.string(), z.string())
    .optional()
    .describe("By CLI: the reason why it asks in Neovim's terminals before it connects, if it does."),
  shared: Shared.optional().describe("Set while a CLI is connected."),
  calls: z.int().optional().describe("Number of tool calls by models."),
  toolClients: z
    .array(z.object({ name: z.string(), version: z.string() }))
    .optional()
    .describe("The clients whose models can call tools."),
  told: z
    .object({
      cli: z.string().describe("Name of the CLI in the option `clis`."),
      text: z.string(),
      at: z.number().describe("Unix milliseconds."),
    })
    .optional()
    .describe("The last message to an agent about the user's decisions."),
  error: z.string().optional().describe("The reason for a failed start."),
});
export type Status = z.infer<typeof Status>;
