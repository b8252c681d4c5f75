/** Defines what the reviews offer to the rest of the host, and what they need. */
import type { Log } from "../base/log.ts";
import type { ClientReviews, ReviewHistory, ReviewOutcome } from "../base/reviews.ts";
import type { Client, ClientList } from "../http/client.ts";
import type { Bridge, EventHandlers } from "../neovim/bridge.ts";
import type { UserFiles } from "../system/user-files.ts";
import type { ReviewInfo } from "./records.ts";

export interface Reviews {
  /** Returns the review functions for a client's session. */
  tools(client: Pick<Client, "id" | "info">): ClientReviews;
  /**
   * Opens a review that does not come from a CLI's `openDiff`. The host process writes the accepted text.
   * @param signal aborted to close the review; ignored after another text has replaced this one
   * @returns the outcome, when the user has decided
   * @throws {Refusal} if the review cannot be shown
   */
  propose(cli: string, filePath: string, newContent: string, signal: AbortSignal): Promise<ReviewOutcome>;
  /** Returns whether a review waits for the user. @param sessionId default: reviews of all sessions */
  isPending(sessionId?: string): boolean;
  /** Closes the reviews of an ended session. */
  abandon(client: Pick<Client, "id">): void;
  /**
   * Continues the reviews of the previous host process. Must be called after Lua has sent the user's decisions on these
   * reviews.
   */
  resume(): void;
  /**
   * Stops watching files, and leaves the open reviews to Neovim. Idempotent.
   * @param rejects whether to reject the open reviews of CLIs that would hang without the editor. The rejections are
   * sent synchronously, because the process may be about to exit
   */
  close(rejects: boolean): void;
  readonly handlers: Pick<EventHandlers, "diff_accepted" | "diff_rejected" | "original_changed">;
}

/** Names for messages: the name of a client, and the name of its CLI. */
export interface Names {
  client: string;
  label: string;
}

export interface ReviewsOptions {
  bridge: Bridge;
  log: Log;
  clients: Pick<ClientList, "get">;
  names: {
    nameOf(session: Pick<Client, "id" | "info">): Names;
    /** Returns the name of a CLI for messages. @param cli name of the CLI's profile */
    labelOf(cli: string): string;
  };
  /** Highest review id that Neovim knows. */
  lastId: number;
  /**
   * Reviews that the previous host process has stored. All of them start as `open`, because Neovim sends the user's
   * decisions again.
   */
  earlier: readonly ReviewInfo[];
  /** Whether the question of a session's CLI answers no key after the editor has gone. */
  hangsWithoutEditor: (sessionId: string) => boolean;
  /** Called when the user has decided on a review of a session. */
  decided: (sessionId: string, filePath: string, isAccepted: boolean) => void;
  /**
   * Stores the open reviews, so that they survive a restart of the host process. Called when these reviews have
   * changed.
   */
  remember: (reviews: ReviewInfo[]) => void;
  /**
   * Called when the user has accepted a proposed text in Neovim, or has answered in the CLI's terminal. This call comes
   * before the CLI can react.
   * @param hashes hashes of all texts that the CLI may write now
   */
  agreed: (filePath: string, hashes: readonly string[]) => void;
  history: ReviewHistory;
  userFiles: UserFiles;
}
