/** Connects the reviews with what they need, and offers them to CLIs with WebSockets. */
import type { EventEmitter } from "node:events";
import { basename } from "node:path";
import type { ClientReviews } from "./base/reviews.ts";
import type { Changes } from "./changes/changes.ts";
import { createSocketEndpoint } from "./claude/endpoint.ts";
import type { Agents } from "./follow-agents.ts";
import type { Client, ClientEvents, ClientList } from "./http/client.ts";
import { profileOfClient } from "./profiles/profiles.ts";
import { createReviews } from "./review/open-to-outcome.ts";
import type { ServicesOptions } from "./services-options.ts";
import type { UserFiles } from "./system/user-files.ts";

interface ReviewsOptions extends Pick<ServicesOptions, "boot" | "bridge" | "log" | "memory" | "profiles"> {
  clients: ClientList;
  agents: Agents;
  changes: Changes;
  userFiles: UserFiles;
  remember: ServicesOptions["remember"];
}

export function showReviews(options: ReviewsOptions) {
  const { boot, bridge, log, memory, profiles, clients, agents, changes, userFiles, remember } = options;
  const { hooksOff, names, turns } = agents;
  const listeners: (() => void)[] = [];
  const reviews = createReviews({
    bridge,
    log,
    clients,
    names,
    lastId: boot.reviews.lastId,
    earlier: memory.diffs,
    hangsWithoutEditor(id) {
      const cli = clients.get(id)?.info.credential;
      return profiles.find(({ name }) => name === cli)?.hangsWithoutEditor === true;
    },
    decided: turns.decided,
    remember(diffs) {
      remember({ diffs });
      for (const listener of listeners) listener();
    },
    agreed: changes.agreed,
    history: changes.history,
    userFiles,
  });
  return {
    ...reviews,
    /** Adds a listener that is called when the open reviews have changed. */
    onChanged: (listener: () => void) => void listeners.push(listener),
    /** Returns the functions for the reviews of one client. */
    of(client: Client): ClientReviews {
      const tools = reviews.tools(client);
      return {
        ...tools,
        openDiff(proposal, ...rest) {
          hooksOff.proposed(client, proposal.filePath);
          return tools.openDiff(proposal, ...rest);
        },
      };
    },
  };
}

interface SocketsOptions
  extends Pick<
    ServicesOptions,
    "boot" | "bridge" | "log" | "port" | "profiles" | "socketTokens" | "version"
  > {
  agents: Agents;
  events: EventEmitter<ClientEvents>;
  reviewsOf(client: Client): ClientReviews;
  diagnose: Parameters<typeof createSocketEndpoint>[0]["diagnose"];
}

/** Creates the endpoint for CLIs with WebSockets. Tells the user how such a CLI treats its reviews. */
export function serveSockets(options: SocketsOptions) {
  const { version, log, boot, bridge, profiles, port, socketTokens, agents, events } = options;
  const { names, turns } = agents;
  return createSocketEndpoint({
    version,
    log,
    events,
    address: { port, tokens: socketTokens },
    maxSessions: boot.server.maxSessions,
    maxMessage: boot.server.bodyLimit,
    identify(credential, client) {
      const profile = profileOfClient(profiles, credential, client);
      return { cli: profile?.name ?? credential, mentions: profile?.socket?.mentions ?? false };
    },
    reviewsOf: (client) => ({
      reviews: options.reviewsOf(client),
      answered: () => turns.answered(client.id),
      /** Tells the user how the CLI treats an accepted text that is equal to the file. */
      unchanged(filePath) {
        turns.decided(client.id, filePath, false);
        const cli = names.labelOf(client.info.credential);
        const text = `You accepted a text for ${basename(filePath)} that equals the file: ${cli} treats this as a rejection.`;
        bridge.tell("message", { level: "info", text });
      },
      /** Tells the user why Neovim cannot open a review. */
      refused(filePath, reason) {
        const cli = names.labelOf(client.info.credential);
        const text = `Neovim cannot show the edit of ${basename(filePath)} by ${cli} (${reason}). Answer in the terminal of the CLI.`;
        bridge.tell("message", { level: "warn", text });
      },
    }),
    diagnose: options.diagnose,
  });
}
