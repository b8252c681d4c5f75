/** Moves each review from `openDiff` to its outcome; nobody else changes where one is. */
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { setTimeout as delay, setImmediate } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Log } from "../base/log.ts";
import { Refusal } from "../base/refusal.ts";
import type { ReviewOutcome } from "../base/review-outcome.ts";
import type { EventPayload } from "../contract/neovim.ts";
import { encodeDecision } from "../http/notification.ts";
import type { Session, Sessions } from "../http/sessions.ts";
import type { Bridge, EventHandlers } from "../neovim/bridge.ts";
import { disk } from "../system/disk.ts";
import { type DiskText, hashOfPlain, readDiskText } from "../system/disk-text.ts";
import { realPath, see } from "../system/sighting.ts";
import type { UserFiles } from "../system/user-files.ts";
import { isVersionSeen } from "../system/version.ts";
import { areDropped } from "./dropped-edits.ts";
import {
  createReviewTable,
  outcomeOf,
  type Review,
  type ReviewInfo,
  type ReviewState,
  setText,
} from "./review.ts";
import { createReviewedFiles } from "./reviewed-files.ts";
import { createStaleness } from "./staleness.ts";
import type { DiffTools } from "./tools.ts";

/** The session of reviews that this bridge opens by itself. */
const OWN = "";

/** So long an answer waits for what the disk holds; a disk that hangs must not hold it up (milliseconds). */
const DISK_PATIENCE = 1_000;

export interface Reviews {
  /** What the tools do for this session. */
  tools(session: Session): DiffTools;
  /**
   * Opens a review of an edit that the bridge makes: what the user accepts is written here.
   * @param signal closes the review, unless another proposal has replaced this one
   * @returns the outcome of the review
   * @throws {Refusal} if it cannot be shown
   */
  propose(cli: string, filePath: string, newContent: string, signal: AbortSignal): Promise<ReviewOutcome>;
  /** Whether a review waits for the user. */
  isPending(): boolean;
  /** Closes the reviews of a session that is gone. */
  abandon(session: Session): void;
  /** Looks after the reviews of a host before this one, when Lua has told what became of them. */
  resume(): void;
  /** Stops looking at the disk. May run twice. */
  close(): void;
  readonly handlers: Pick<EventHandlers, "diff_accepted" | "diff_rejected" | "original_changed">;
}

/** What messages call a client, and its CLI. */
interface Names {
  client: string;
  label: string;
}

/** What the history keeps of a review. */
export interface ReviewHistory {
  /** A review shows a proposal. @param original the file on disk at that moment */
  proposed(
    id: number,
    cli: string,
    filePath: string,
    newContent: string,
    original: Promise<Pick<DiskText, "bytes" | "version">>,
  ): Promise<void>;
  /** The user has decided. @param content absent for a rejection */
  decided(id: number, content: string | undefined): void;
  /** The review ended without a decision. */
  closed(id: number): void;
}

/** A review that is shown. The outcome is in an object, so that nobody awaits it together with `show`. */
type Shown = { review: Review; outcome: Promise<ReviewOutcome> };

export interface ReviewsOptions {
  bridge: Bridge;
  log: Log;
  sessions: Pick<Sessions, "get">;
  clients: {
    nameOf(session: Pick<Session, "id" | "info">): Names;
    /** @param cli the name of a profile */
    labelOf(cli: string): string;
  };
  /** The highest review id that is taken. */
  lastId: number;
  /** Reviews of a host before this one. */
  earlier: readonly ReviewInfo[];
  /** The user has decided on a review of this session's. */
  decided: (sessionId: string, accepted: boolean) => void;
  /** Told of the reviews that have not ended, for a later host, whenever they are others. */
  remember: (reviews: ReviewInfo[]) => void;
  /**
   * Told what the user has agreed to, here or in the CLI's own prompt, in the tick in which the CLI is: hashes of plain
   * texts.
   */
  agreed: (filePath: string, hashes: readonly string[]) => void;
  history: ReviewHistory;
  userFiles: UserFiles;
}

export function createReviews(options: ReviewsOptions): Reviews {
  const { bridge, log, sessions } = options;
  const closing = new AbortController();
  const table = createReviewTable(options.lastId, options.earlier);
  const files = createReviewedFiles(bridge);
  const staleness = createStaleness({
    bridge,
    log,
    noted: () => remember(),
    written: async (review) => void recover(review, await close(review, "written")),
  });

  let remembered = table.infos();
  /** Each time costs the editor a message. */
  function remember(): void {
    const all = table.infos();
    if (!isDeepStrictEqual(all, remembered)) options.remember(all);
    remembered = all;
  }

  function move(review: Review, state: ReviewState): void {
    log.debug(`review ${review.id} is ${state}:`, review.filePath);
    files.follow(review.filePath);
    table.move(review, state);
    if (state !== "open" && state !== "closing") staleness.end(review);
    remember();
  }

  /** Takes the user's decision to the session that asked, or carries it out. @param event nothing for a rejection */
  async function decide(id: number, event?: EventPayload<"diff_accepted">): Promise<void> {
    const review = table.get(id);
    if (!review) {
      log.info(`review ${id} was decided, but had ended already`);
      return settle(id, true, "");
    }
    move(review, "decided");
    const content = event && (await acceptedText(review, event));
    const { filePath, sessionId } = review;
    const session = sessions.get(sessionId);
    if (session) move(review, "sent");
    const isOwn = sessionId === OWN;
    const delivery = isOwn ? undefined : session?.deliver(encodeDecision(filePath, content));
    const writing = isOwn && content !== undefined ? write(filePath, content, event?.version) : undefined;
    // While it leaves, and before anything can come that it leads to.
    options.decided(sessionId, content !== undefined);
    options.history.decided(id, content);
    if (content !== undefined) options.agreed(filePath, [hashOfPlain(content)]);
    const problem = await writing;
    const delivered = isOwn ? problem === undefined : ((await delivery) ?? false);
    move(review, delivered ? "delivered" : "lost");
    review.tell?.(outcomeOf(review, content, delivered));
    log.info(`the decision on review ${id} was ${review.state}`);
    settle(id, delivered, filePath, problem);
  }

  /** The accepted text. An unedited one stays in the host: Neovim names it by its id instead of sending it back. */
  async function acceptedText(review: Review, event: EventPayload<"diff_accepted">): Promise<string> {
    if ("content" in event) return event.content;
    if (review.text?.id === event.textId) return review.text.content;
    // Another text was about to replace it, or it is known to a host before this one.
    return (await bridge.call("decision_read", { id: review.id })).content;
  }

  /**
   * Writes what the user accepted of a review for which no CLI waits.
   * @param version of the file when the user accepted
   * @returns why the text was not written
   */
  async function write(
    filePath: string,
    content: string,
    version: string | undefined,
  ): Promise<string | undefined> {
    try {
      const path = await realPath(filePath);
      const seen = await see(path);
      const found = await disk.run(path, () => stat(path, { bigint: true })).catch(() => undefined);
      if (version !== undefined && !isVersionSeen(version, found))
        return `${basename(path)} has changed since you accepted, and was not written`;
      await options.userFiles.replace(path, seen, { text: Buffer.from(content).toString("latin1") });
      return undefined;
    } catch (error) {
      log.error(`${filePath} was not written:`, error);
      return error instanceof Refusal ? error.message : `${basename(filePath)} was not written`;
    }
  }

  /** Shows the user's edits as a change of their own when the CLI has written the proposal without them. */
  async function recover({ filePath, baseline, label }: Review, content: string): Promise<void> {
    if (!baseline || !(await areDropped({ filePath, content, proposed: baseline.proposed }, closing.signal)))
      return;
    log.warn(`${label} wrote a proposal without the edits:`, filePath);
    const text = `${label} wrote ${basename(filePath)} without your edits: they are open as a review.`;
    bridge.tell("message", { level: "warn", text });
    await show(OWN, filePath, content, { client: label, label }).catch((error: unknown) =>
      log.error(`the edits of ${filePath} could not be shown:`, error),
    );
  }

  function settle(id: number, delivered: boolean, filePath: string, problem?: string): void {
    bridge.tell("decision_settled", { id, delivered, filePath, problem });
  }

  /**
   * Closes a review without an outcome. A decision of the user's that is on its way comes before Lua's refusal to close,
   * and takes the review over.
   */
  async function close(
    review: Review,
    reason: "cancelled" | "cli" | "disconnected" | "written",
  ): Promise<string> {
    move(review, "closing");
    try {
      const { content } = await bridge.call("diff_close", { id: review.id, reason });
      move(review, "closed");
      options.history.closed(review.id);
      review.tell?.(reason === "written" ? "accepted" : "closed");
      return content;
    } catch (error) {
      const isAbandoned = reason === "cancelled" || reason === "disconnected";
      if (review.state === "closing") move(review, isAbandoned ? "closed" : "open");
      throw error;
    }
  }

  /** Closes a review that nobody waits for any more, if the user has not decided. */
  function abandon(review: Review, reason: "cancelled" | "disconnected"): void {
    if (review.state !== "open") return;
    close(review, reason).catch((error: unknown) => log.info(`review ${review.id} was not closed:`, error));
  }

  async function show(sessionId: string, filePath: string, newContent: string, names: Names): Promise<Shown> {
    const earlier = table.find(sessionId, filePath);
    const review = earlier ?? table.add(sessionId, filePath, names.label);
    const outcome = setText(review, newContent);
    // Before it is shown: a host that crashes in between must not leave a review that the next one does not know.
    if (!earlier) move(review, "open");
    const textId = review.text?.id ?? "";
    const shown = bridge.call("diff_open", { id: review.id, filePath, newContent, textId, ...names });
    const original = setImmediate(filePath).then(readDiskText); // while Neovim is busy with it
    const cli = sessions.get(sessionId)?.info.credential ?? names.label;
    const noted = options.history.proposed(review.id, cli, filePath, newContent, original);
    try {
      await shown;
      // What the client does to the file after its answer is a change.
      await Promise.race([Promise.all([original, noted]), delay(DISK_PATIENCE, undefined, { ref: false })]);
    } catch (error) {
      // The user was quicker, and decided on the earlier text.
      if (earlier && review.state !== "open" && (sessionId === OWN || sessions.get(sessionId)))
        return show(sessionId, filePath, newContent, names);
      // A text that could not be replaced leaves the review as it was.
      if (!earlier) move(review, "closed");
      review.tell?.("closed");
      throw error;
    }
    if (review.state === "open") void staleness.begin(review, original, newContent);
    return { review, outcome };
  }

  return {
    tools: (session) => ({
      async openDiff({ filePath, newContent }) {
        await show(session.id, filePath, newContent, options.clients.nameOf(session));
      },
      async closeDiff(filePath) {
        const review = table.find(session.id, filePath);
        if (!review) throw new Refusal(`no diff is open for ${filePath}`);
        const content = await close(review, "cli");
        // Or dropped, when nobody writes it. A CLI may pass over the edits.
        const proposed = review.baseline ? [review.baseline.proposed] : [];
        options.agreed(filePath, [hashOfPlain(content), ...proposed]);
        void recover(review, content);
        return content;
      },
    }),
    async propose(cli, filePath, newContent, signal) {
      const label = options.clients.labelOf(cli);
      const { review, outcome } = await show(OWN, filePath, newContent, { client: label, label });
      const { text } = review;
      const cancel = () => {
        if (review.text === text) abandon(review, "cancelled");
      };
      if (signal.aborted) cancel();
      else signal.addEventListener("abort", cancel);
      return outcome;
    },
    isPending: () => table.all().some(({ state }) => state === "open"),
    abandon(session) {
      for (const review of table.all()) if (review.sessionId === session.id) abandon(review, "disconnected");
    },
    resume() {
      for (const review of table.all()) if (review.state === "open") staleness.resume(review);
    },
    close() {
      closing.abort();
      staleness.close();
      files.close();
      for (const review of table.all()) review.tell?.("closed");
    },
    handlers: {
      diff_accepted: (event) => decide(event.id, event),
      diff_rejected: ({ id }) => decide(id),
      original_changed({ id, edited }) {
        const review = table.get(id);
        if (review) staleness.edited(review, edited);
      },
    },
  };
}
