/** Sends progress notifications to a client during a long call. */
import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol.js";
import type { ServerNotification, ServerRequest } from "@modelcontextprotocol/sdk/types.js";

const PROGRESS_INTERVAL_MS = 5_000;

/** A request of a client: the cancellation signal, and a function that notifies the client before the answer. */
export type Caller = Pick<
  RequestHandlerExtra<ServerRequest, ServerNotification>,
  "signal" | "_meta" | "sendNotification"
>;

export interface Progress {
  /** Sets the reason for waiting, which the notifications report to the client. */
  waitsFor(what: string): void;
  end(): void;
}

/** Sends a notification every five seconds. Does nothing if the client has not sent a progress token. */
export function startProgress({ _meta, sendNotification }: Caller): Progress {
  const progressToken = _meta?.progressToken;
  let message = "";
  let progress = 0;
  const tell = (token: string | number) => {
    progress += 1;
    const params = { progressToken: token, progress, message };
    // Ignores a failure, because the client has disconnected. A disconnect also cancels the call.
    sendNotification({ method: "notifications/progress", params }).catch(() => {});
  };
  const timer =
    progressToken === undefined ? undefined : setInterval(tell, PROGRESS_INTERVAL_MS, progressToken);
  return {
    waitsFor(what) {
      message = `Waiting for ${what}`;
    },
    end: () => clearInterval(timer),
  };
}
