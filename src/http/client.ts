/** Defines a connected CLI for all features, independently of the CLI's protocol. */
import type { IdeContext } from "../contract/companion.ts";
import type { SelectedRange } from "../contract/snapshot.ts";
import type { Notification } from "./notification.ts";

/** The data that a later host needs to continue a session. */
export interface SessionInfo {
  readonly id: string;
  /** The name of the token that opened the session. */
  readonly credential: string;
  /** Unix milliseconds. */
  readonly connectedAt: number;
  /** The name that the CLI reports. */
  readonly name: string;
  readonly version: string;
  readonly protocolVersion: string;
}

/** The context of the editor. */
export interface SharedContext {
  readonly context: IdeContext;
  /** The place of the selected text in the active file. */
  readonly selected: SelectedRange | undefined;
  /** The context as a message of the companion protocol, encoded once for all clients. */
  readonly notification: Notification;
}

/** The user's decision on a review. */
export interface Decision {
  /** Name of the review in its session. */
  readonly name: string;
  readonly filePath: string;
  /** The accepted text; undefined for a rejection. */
  readonly content: string | undefined;
}

/** A file that a prompt refers to, or some lines of it. */
export interface FileReference {
  /** Absolute. */
  readonly path: string;
  /** First and last line, 1-based. */
  readonly lines?: readonly [number, number] | undefined;
}

/** References that are ready to be inserted into the CLI's prompt. */
export interface Mention {
  /** The text with which the CLI's prompt ends after the insertion. */
  readonly shows: string;
  insert(): void;
}

export interface Client {
  readonly id: string;
  readonly info: SessionInfo;
  /** Whether the client can receive messages. */
  readonly isConnected: boolean;
  /** The ports of the connection, at both ends. */
  readonly ports: { own: number; client: number } | undefined;
  /** Sends the context if the client is connected. */
  share(context: SharedContext): void;
  /**
   * Sends the user's decision as soon as the client is connected.
   * @returns true once sent; false if the session ended first
   */
  decide(decision: Decision): Promise<boolean>;
  /**
   * Prepares references for the CLI's prompt. This method is missing if the protocol cannot insert references.
   * @param cwd the CLI's directory
   * @returns undefined if the CLI would misunderstand even one of them
   */
  mention?(references: readonly FileReference[], cwd: string): Mention | undefined;
}

export interface ClientList {
  /** Clients that can receive messages. */
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
