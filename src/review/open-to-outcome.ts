/** Runs each review from `openDiff` to its outcome. Only this file changes the state of a review. */
import { randomUUID } from "node:crypto";
import { basename } from "node:path";
import { setTimeout as delay, setImmediate } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { Refusal } from "../base/refusal.ts";
import type { ReviewOutcome } from "../base/reviews.ts";
import type { OpenDiffRequest } from "../contract/companion.ts";
import type { EventPayload } from "../contract/neovim.ts";
import { hashOfPlain, readDiskText } from "../system/disk-text.ts";
import { checkFile } from "./diff-tools.ts";
import { areDropped } from "./dropped-edits.ts";
import type { Names, Reviews, ReviewsOptions } from "./interfaces.ts";
import { FINAL_STATES, outcomeOf, type Review, type ReviewInfo, type ReviewState } from "./records.ts";
import { createStaleness } from "./staleness.ts";
import { writeAcceptedText } from "./write-accepted-text.ts";

/** Session id of reviews that do not come from a CLI's `openDiff`. */
const OWN_SESSION = "";

/** Timeout for reading the file before `openDiff` is answered. */
const READ_TIMEOUT_MS = 1_000;

/** Time for Neovim to close a review. Neovim answers no call while it waits for a key, for example at a prompt. */
const CLOSE_TIMEOUT_MS = 2_000;

/** Waits for Neovim to close a review. @returns undefined if Neovim needs too long */
const soon = <T>(closed: Promise<T>): Promise<T | undefined> =>
  Promise.race([closed, delay(CLOSE_TIMEOUT_MS, undefined, { ref: false })]);

/**
 * A review that Neovim shows. The promise of the outcome is wrapped in an object, because an async function that
 * returned the promise itself would wait for the outcome.
 */
type Shown = { review: Review; outcome: Promise<ReviewOutcome> };

/** Returns what the next host needs of a review. */
const infoOf = ({ id, sessionId, label, filePath, baseline }: Review): ReviewInfo => {
  return { id, sessionId, label, filePath, baseline };
};

/** Returns an open review that an earlier host has shown. */
const reviewOf = (info: ReviewInfo): Review => ({ ...info, name: info.filePath, state: "open" });

export function createReviews(options: ReviewsOptions): Reviews {
  const { bridge, log, clients } = options;
  const closing = new AbortController();
  /** All reviews that have not ended, by id. */
  const reviews = new Map(options.earlier.map((info) => [info.id, reviewOf(info)]));
  let lastId = Math.max(options.lastId, ...reviews.keys());
  const staleness = createStaleness({
    bridge,
    log,
    noted: () => remember(),
    async written(review) {
      if (review.state === "open") void recover(review, await close(review, "written"));
    },
  });

  const all = () => [...reviews.values()];
  const openOf = (sessionId: string) =>
    all().filter((review) => review.state === "open" && review.sessionId === sessionId);
  const find = (sessionId: string, name: string) => openOf(sessionId).find((review) => review.name === name);
  const infos = () => all().map(infoOf);

  let remembered = infos();
  /** Stores the open reviews if they have changed. */
  function remember(): void {
    const now = infos();
    if (!isDeepStrictEqual(now, remembered)) options.remember(now);
    remembered = now;
  }

  /** Sets the state of a review. A final state removes the record, and never changes again. */
  function move(review: Review, state: ReviewState): void {
    log.debug(`review ${review.id} is ${state}:`, review.filePath);
    staleness.watch(review.filePath);
    if (reviews.has(review.id)) review.state = state;
    if (FINAL_STATES.includes(state)) reviews.delete(review.id);
    if (state !== "open" && state !== "closing") staleness.end(review);
    remember();
  }

  /**
   * Sends the user's decision to the CLI. If the review does not come from a CLI's `openDiff`, writes the accepted
   * text.
   * @param event undefined for a rejection
   */
  async function decide(id: number, event?: EventPayload<"diff_accepted">): Promise<void> {
    const review = reviews.get(id);
    if (!review) {
      log.info(`review ${id} was decided, but had ended already`);
      return settle(id, true, "");
    }
    if (closing.signal.aborted) return; // Lua sends the decision to the next host, or reports it as lost
    move(review, "decided");
    const content = event && (await acceptedText(review, event));
    const { name, request, filePath, sessionId } = review;
    const client = clients.get(sessionId);
    if (client) move(review, "sent");
    const isOwn = sessionId === OWN_SESSION;
    const delivery = isOwn ? undefined : client?.sendDecision({ name, request, filePath, content });
    const writing =
      isOwn && content !== undefined
        ? writeAcceptedText({ filePath, content, version: event?.version }, options)
        : undefined;
    // The next calls must follow without `await`, so that they run before the CLI can react to the decision.
    options.decided(sessionId, filePath, content !== undefined);
    options.history.decided(id, content);
    // The CLI may write the text without the final line break.
    if (content !== undefined)
      options.agreed(filePath, [hashOfPlain(content), hashOfPlain(content.replace(/\n$/, ""))]);
    const problem = await writing;
    const delivered = isOwn ? problem === undefined : ((await delivery) ?? false);
    if (!delivered && closing.signal.aborted) return;
    move(review, delivered ? "delivered" : "lost");
    review.tell?.(outcomeOf(review, content, delivered));
    log.info(`the decision on review ${id} was ${review.state}`);
    settle(id, delivered, filePath, problem);
  }

  /** Returns the accepted text. For an unedited text, Neovim sends only the id of the text. */
  async function acceptedText(review: Review, event: EventPayload<"diff_accepted">): Promise<string> {
    if ("content" in event) return event.content;
    if (review.text?.id === event.textId) return review.text.content;
    // The text may be missing here: the host process may have restarted, or a newer text may just have replaced this
    // text.
    return (await bridge.call("decision_read", { id: review.id })).content;
  }

  /** Shows the user's edits as a new review if the CLI has dropped the edits. */
  async function recover({ filePath, baseline, label }: Review, content: string): Promise<void> {
    if (!baseline || !(await areDropped({ filePath, content, proposed: baseline.proposed }, closing.signal)))
      return;
    log.warn(`${label} wrote a proposal without the edits:`, filePath);
    const text = `${label} wrote ${basename(filePath)} without your edits. Your edits are open as a new review.`;
    bridge.tell("message", { level: "warn", text });
    await show(OWN_SESSION, { filePath, newContent: content }, { client: label, label }).catch(
      (error: unknown) => log.error(`the edits of ${filePath} could not be shown:`, error),
    );
  }

  function settle(id: number, delivered: boolean, filePath: string, problem?: string): void {
    bridge.tell("decision_settled", { id, delivered, filePath, problem });
  }

  /**
   * Closes a review without an outcome.
   * @throws if the user has just decided. The event with the decision arrives before this error
   */
  async function close(
    review: Review,
    reason: "answered" | "cancelled" | "cli" | "disconnected" | "written",
  ): Promise<string> {
    move(review, "closing");
    try {
      const { content } = await bridge.call("diff_close", { id: review.id, reason });
      move(review, "closed");
      options.history.closed(review.id);
      review.tell?.(reason === "written" ? "accepted" : "closed");
      return content;
    } catch (error) {
      const isAbandoned = reason !== "cli" && reason !== "written";
      if (review.state === "closing") move(review, isAbandoned ? "closed" : "open");
      throw error;
    }
  }

  /** Closes a review that the CLI no longer needs. Does nothing if the user has already decided in Neovim. */
  async function abandon(review: Review, reason: "answered" | "cancelled" | "disconnected"): Promise<void> {
    if (review.state !== "open" || closing.signal.aborted) return;
    try {
      await close(review, reason);
    } catch (error) {
      log.info(`review ${review.id} was not closed:`, error);
    }
  }

  /** Rejects a proposal although the user has not decided, because its CLI would wait for ever. */
  function reject(review: Review): void {
    const { id, name, request, filePath, sessionId } = review;
    void clients.get(sessionId)?.sendDecision({ name, request, filePath, content: undefined });
    options.history.decided(id, undefined);
    move(review, "closed");
  }

  /**
   * Closes a review because the user has answered in the CLI's terminal. The answer is unknown. It may have been "yes",
   * so the CLI may write the proposed text.
   */
  async function answered(review: Review): Promise<void> {
    if (review.baseline) options.agreed(review.filePath, [review.baseline.proposed]);
    await abandon(review, "answered");
  }

  /**
   * Shows a proposed text in Neovim.
   * @returns undefined if the user has just decided on the previous text of the review
   */
  async function present(
    review: Review,
    newContent: string,
    names: Names,
    request: Review["request"],
  ): Promise<Shown | undefined> {
    const { id, sessionId, filePath, text, tell } = review;
    const textId = randomUUID();
    review.text = { id: textId, content: newContent };
    const outcome = new Promise<ReviewOutcome>((resolve) => {
      review.tell = resolve;
    });
    const shown = bridge.call("diff_open", { id, filePath, newContent, textId, ...names });
    const original = setImmediate(filePath).then(readDiskText); // reads the file while Neovim shows the review
    const cli = clients.get(sessionId)?.info.credential ?? names.label;
    const noted = options.history.proposed(id, cli, filePath, newContent, original);
    const isPending = await shown.then(
      (answer) => answer.isPending,
      (error: unknown) => {
        // Neovim still shows the previous text, so the review keeps this text.
        Object.assign(review, { text, tell });
        throw error;
      },
    );
    if (!isPending) {
      void outcome.then(tell);
      return undefined;
    }
    // Set only now: until Neovim shows the new text, a decision belongs to the request for the previous text.
    review.request = request;
    tell?.("replaced");
    // Reads the file before answering `openDiff`, because the client may change the file after the answer.
    await Promise.race([Promise.all([original, noted]), delay(READ_TIMEOUT_MS, undefined, { ref: false })]);
    if (review.state === "open") void staleness.begin(review, original, newContent);
    return { review, outcome };
  }

  /** Opens a review, or replaces the text of an open review with the same name in the session. */
  async function show(
    sessionId: string,
    { filePath, newContent }: OpenDiffRequest,
    names: Names,
    name = filePath,
    request?: Review["request"],
  ): Promise<Shown> {
    // Reviews that do not come from `openDiff` share a session. There, a CLI replaces only its own texts.
    const isOfSameCli = ({ label }: Review) => sessionId !== OWN_SESSION || label === names.label;
    const earlier = openOf(sessionId).find((review) => review.name === name && isOfSameCli(review));
    if (earlier && earlier.filePath !== filePath) await abandon(earlier, "cancelled");
    const replaced = earlier?.state === "open" && (await present(earlier, newContent, names, request));
    if (replaced) return replaced;
    if (sessionId !== OWN_SESSION && !clients.get(sessionId)) throw new Refusal("the session has ended");
    const { label } = names;
    const review: Review = { id: ++lastId, sessionId, name, request, filePath, label, state: "open" };
    reviews.set(review.id, review);
    // Stores the review before Neovim shows it. A crash of the host process then does not lose the review.
    move(review, "open");
    try {
      const shown = await present(review, newContent, names, request);
      if (shown) return shown;
      throw new Error(`Neovim knows review ${review.id} already`);
    } catch (error) {
      move(review, "closed");
      throw error;
    }
  }

  return {
    tools: (client) => ({
      async openDiff(proposal, name, request) {
        await checkFile(proposal.filePath);
        await show(client.id, proposal, options.names.nameOf(client), name, request);
      },
      async closeDiff(name) {
        const review = find(client.id, name);
        if (!review) throw new Refusal(`no diff is open for ${name}`);
        const { filePath, text } = review;
        const closed = close(review, "cli");
        closed
          .then((content) => recover(review, content))
          .catch((error: unknown) => log.info(`review ${review.id} was not closed:`, error));
        const content = (await soon(closed)) ?? text?.content;
        if (content === undefined) throw new Refusal("Neovim does not answer");
        // The CLI may write the edited text, the original proposal without the edits, or nothing.
        const proposed = review.baseline ? [review.baseline.proposed] : [];
        options.agreed(filePath, [hashOfPlain(content), ...proposed]);
        return content;
      },
      async dismiss(name, reason) {
        const review = find(client.id, name);
        if (review) await soon(reason === "answered" ? answered(review) : abandon(review, reason));
      },
      async dismissAll() {
        const open = openOf(client.id);
        await soon(Promise.all(open.map(answered)));
        return open.length;
      },
    }),
    async propose(cli, filePath, newContent, signal) {
      const label = options.names.labelOf(cli);
      const { review, outcome } = await show(OWN_SESSION, { filePath, newContent }, { client: label, label });
      const { text } = review;
      const cancel = () => {
        if (review.text === text) void abandon(review, "cancelled");
      };
      if (signal.aborted) cancel();
      else signal.addEventListener("abort", cancel);
      return outcome;
    },
    isPending: (sessionId) =>
      all().some((review) => review.state === "open" && (sessionId ?? review.sessionId) === review.sessionId),
    abandon({ id }) {
      for (const review of openOf(id)) void abandon(review, "disconnected");
    },
    resume() {
      for (const review of all()) {
        if (review.state !== "open") continue;
        staleness.watch(review.filePath);
        if (review.sessionId === OWN_SESSION || clients.get(review.sessionId)) staleness.resume(review);
        // The client did not reconnect after a restart of the host process.
        else void abandon(review, "disconnected");
      }
    },
    close(rejects) {
      if (closing.signal.aborted) return;
      closing.abort();
      staleness.close();
      for (const review of all()) {
        review.tell?.("closed");
        if (rejects && review.state === "open" && options.hangsWithoutEditor(review.sessionId))
          reject(review);
      }
    },
    handlers: {
      diff_accepted: (event) => decide(event.id, event),
      diff_rejected: ({ id }) => decide(id),
      original_changed({ id, edited }) {
        const review = reviews.get(id);
        if (review) staleness.edited(review, edited);
      },
    },
  };
}
