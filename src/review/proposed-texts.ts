/** The texts of open reviews: what nobody has changed Neovim does not send back, as a long one takes its time. */
import { randomUUID } from "node:crypto";
import type { EventPayload } from "../contract/neovim.ts";
import type { Bridge } from "../neovim/bridge.ts";
import type { Review } from "./records.ts";

export interface ProposedTexts {
  /** The review shows this text from now on. @returns its name, see `diff_open` */
  add(review: Review, text: string): string;
  /** What the user has accepted. */
  accepted(review: Review, event: EventPayload<"diff_accepted">): Promise<string>;
}

export function createProposedTexts(bridge: Pick<Bridge, "call">): ProposedTexts {
  const texts = new WeakMap<Review, { textId: string; text: string }>();
  return {
    add(review, text) {
      const textId = randomUUID();
      texts.set(review, { textId, text });
      return textId;
    },
    async accepted(review, event) {
      if ("content" in event) return event.content;
      const known = texts.get(review);
      if (known?.textId === event.textId) return known.text;
      // Another text was about to come in its place, or it is from a host before this one.
      return (await bridge.call("decision_read", { id: review.id })).content;
    },
  };
}
