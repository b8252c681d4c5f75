/** Registers MCP resources. Users insert them into prompts, for example `@neovim:nvim://quickfix`. */
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { attempt } from "../base/attempt.ts";
import type { EventPayload } from "../contract/neovim.ts";
import type { Sdk } from "../http/sessions.ts";
import { count } from "./format.ts";
import type { Caller } from "./progress.ts";
import type { Answer, CallContext } from "./tool.ts";
import { describeSelection, listBuffers, readBuffer } from "./tools/buffers.ts";
import { describe, everywhere, openPaths } from "./tools/diagnostics.ts";
import { describeQuickfix } from "./tools/view.ts";

type Changed = EventPayload<"model_changed">["what"][number];

interface Resource {
  name: string;
  title: string;
  description: string;
  read(context: CallContext): Promise<Answer>;
}

const RESOURCES: readonly Resource[] = [
  {
    name: "diagnostics",
    title: "Diagnostics",
    description: "Errors and warnings in the open files, and in others that language servers report",
    read: async (context) => describe(await everywhere(context), context),
  },
  {
    name: "quickfix",
    title: "Quickfix list",
    description: "The entries of the user's quickfix list",
    read: describeQuickfix,
  },
  { name: "buffers", title: "Open files", description: "The files that are open", read: listBuffers },
  {
    name: "selection",
    title: "Selection",
    description: "The cursor position and the selected text",
    read: describeSelection,
  },
  {
    name: "changes",
    title: "Changes",
    description: "Files that CLIs changed without a review, and that the user has not kept yet",
    read: describeChanges,
  },
];

async function describeChanges({ ask, workspace }: CallContext): Promise<Answer> {
  const { changes } = await ask("changes", {});
  const shared = await workspace.shared(changes.map(({ path }) => path));
  const isShown = await Promise.all(
    changes.map(({ path, status }) => (status === "deleted" ? workspace.mayName(path) : shared.has(path))),
  );
  const shown = changes.filter((_, index) => isShown[index]);
  const lines = shown.map(
    ({ path, status, added, removed }) => `${workspace.label(path)} ${status} +${added} -${removed}`,
  );
  return { text: [`${count(shown.length, "file")} changed and not kept yet`, ...lines].join("\n") };
}

const SCHEME = "nvim://";
const BUFFER = `${SCHEME}buffer/`;

/** Runs a function with the context of a request, and answers the request with the result. */
export type Read = <T>(name: string, caller: Caller, run: (context: CallContext) => Promise<T>) => Promise<T>;

/**
 * Registers all resources.
 * @param subscribed called when the client has changed its subscriptions
 * @returns a live set of the URIs to which the client has subscribed
 */
export function registerResources(
  server: McpServer,
  sdk: Sdk,
  read: Read,
  subscribed: () => void,
): ReadonlySet<string> {
  const mimeType = "text/plain";
  for (const { name, title, description, read: describe } of RESOURCES) {
    const uri = SCHEME + name;
    server.registerResource(name, uri, { title, description, mimeType }, async (_, caller) => {
      const { text } = await read(uri, caller, describe);
      return { contents: [{ uri, mimeType, text }] };
    });
  }
  const template = new sdk.ResourceTemplate(`${BUFFER}{+path}`, {
    list: (caller) =>
      read("resources/list", caller, async (context) => ({
        resources: (await openPaths(context)).map((path) => {
          const name = context.workspace.name(path);
          // Unlike encodeURI, encodes "#" and "?", with which a fragment or a query would begin.
          const encoded = name.split("/").map(encodeURIComponent).join("/");
          return { uri: BUFFER + encoded, name, title: context.workspace.label(path), mimeType };
        }),
        // `read` fails while sharing is paused. In that case, lists no buffers, so that the other resources are still
        // listed.
      })).catch(() => ({ resources: [] })),
  });
  const title = {
    title: "An open file",
    description: "The text in the editor, including unsaved changes",
    mimeType,
  };
  server.registerResource("buffer", template, title, async ({ href }, _, caller) => {
    const { text, embedded, isCut } = await read(href, caller, (context) =>
      readBuffer({ path: pathOf(href) }, context),
    );
    const shown = embedded?.text ?? "";
    return { contents: [{ uri: href, mimeType, text: isCut ? `${shown}\n(cut off: ${text})` : shown }] };
  });
  return followSubscriptions(server, sdk, subscribed);
}

/** Returns the path in the URI of a buffer. If decoding fails, returns the path undecoded. */
function pathOf(uri: string): string {
  const path = uri.slice(BUFFER.length);
  return attempt(() => decodeURIComponent(path)) ?? path;
}

/** Maximum number of subscriptions for each client. */
const MAX_SUBSCRIPTIONS = 1000;

function followSubscriptions({ server }: McpServer, sdk: Sdk, subscribed: () => void): ReadonlySet<string> {
  const uris = new Set<string>();
  server.setRequestHandler(sdk.SubscribeRequestSchema, ({ params: { uri } }) => {
    if (uris.size < MAX_SUBSCRIPTIONS) uris.add(uri);
    subscribed();
    return {};
  });
  server.setRequestHandler(sdk.UnsubscribeRequestSchema, ({ params: { uri } }) => {
    uris.delete(uri);
    subscribed();
    return {};
  });
  return uris;
}

/** Returns whether a resource may have changed. @param what the kinds of changes in Neovim */
export function isAbout(uri: string, what: readonly Changed[]): boolean {
  return what.some((each) => uri === SCHEME + each) || (uri.startsWith(BUFFER) && what.includes("text"));
}
