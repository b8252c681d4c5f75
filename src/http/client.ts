/** Defines a connected CLI for all features, independently of the CLI's protocol. */
import type { IdeContext } from "../contract/companion.ts";
import type { SessionInfo } from "../contract/memory.ts";
import type { SelectedRange } from "../contract/snapshot.ts";
import type { Notification } from "./notification.ts";

export type { SessionInfo };

/** The context of the editor: open files, cursor and selection. */
export interface SharedContext {
  readonly context: IdeContext;
  /** Range of the selected text in the active file. */
  readonly selected: SelectedRange | undefined;
  /** The context as a message of the companion protocol, encoded once for all clients. */
  readonly notification: Notification;
}

/** The user's decision on a review. */
export interface Decision {
  /** Name of the review, unique in the session of its client. */
  readonly name: string;
  /** Request that has proposed the text, if the request waits for the decision. */
  readonly request?: string | number | undefined;
  readonly filePath: string;
  /** The accepted text; undefined for a rejection. */
  readonly content: string | undefined;
}

/** A file, or some of its lines, to which a prompt refers. */
export interface FileReference {
  /** Absolute path of the file. */
  readonly path: string;
  /** First and last line, 1-based. */
  readonly lines?: readonly [number, number] | undefined;
}

/** File references that the bridge can insert into the CLI's prompt. */
export interface Mention {
  /** Text at the end of the CLI's prompt after the insertion. */
  readonly shows: string;
  insert(): void;
}

export interface Client {
  readonly id: string;
  readonly info: SessionInfo;
  /** Whether the client can receive messages. */
  readonly isConnected: boolean;
  /** Local ports of the connection: the bridge's (`own`) and the client's. */
  readonly ports: { own: number; client: number } | undefined;
  /** Sends the context if the client is connected. */
  sendContext(context: SharedContext): void;
  /**
   * Sends the user's decision as soon as the client is connected.
   * @returns true after the decision was sent; false if the session ended first
   */
  sendDecision(decision: Decision): Promise<boolean>;
  /**
   * Prepares file references for the CLI's prompt. This method is missing if the protocol cannot insert references.
   * @param cwd the CLI's directory
   * @returns undefined if the CLI would misunderstand any of the references
   */
  mention?(references: readonly FileReference[], cwd: string): Mention | undefined;
}

export interface ClientList {
  /** Lists the clients that can receive messages. */
  connected(): Client[];
  get(id: string): Client | undefined;
}

/** Events of clients. Listeners run synchronously. */
export interface ClientEvents {
  /** The client can receive messages. */
  connected: [client: Client];
  /** The connection is lost. The client may reconnect. */
  disconnected: [client: Client];
  /** The session has ended, and its client cannot return. */
  ended: [client: Client];
}
