/** Tracks which questions of a CLI the user has not answered yet. */
import { basename } from "node:path";
import type { Tool } from "../contract/hooks.ts";

/** Maximum time between the user's decision on a proposed text and the hook event that reports the CLI's question. */
const LATE_QUESTION_MS = 2_000;

/** The questions of one agent since the last event of a tool. */
export interface Questions {
  /** Whether the agent waits for the user. */
  readonly areOpen: boolean;
  /** Returns whether the user has already answered the question that a hook reports. */
  isAnswered(tool: Tool): boolean;
  asked(tool: Tool): void;
  /**
   * Called when the user has decided on a proposed text.
   * @returns false if the user has rejected everything, which ends the turn
   */
  decided(filePath: string, isAccepted: boolean): boolean;
  /** Called when a tool runs, which shows that the user has answered all questions. */
  answered(): void;
  /** Called when a prompt or the next tool starts. Forgets decisions whose question was not reported. */
  start(): void;
}

export function createQuestions(): Questions {
  /**
   * The key is the file of an edit, or "" for all other tools. Some CLIs ask about several tools at once, and run the
   * accepted tools after the last answer.
   */
  const questions = new Map<string, "open" | "accepted">();
  /**
   * File whose proposed text was decided on before a hook reported the question. Some CLIs run this hook while the
   * review opens, so the event can arrive after a fast decision.
   */
  let decidedFirst: { filePath: string } | undefined;

  /**
   * Returns the key of the question that a decision answers. The hook of a CLI may spell the path of the file in another
   * way than its review.
   */
  function questionAbout(filePath: string): string {
    const open = [...questions.keys()].filter(
      (file) => questions.get(file) === "open" && basename(file) === basename(filePath),
    );
    const [only = filePath] = open.length === 1 ? open : [];
    return open.includes(filePath) ? filePath : only;
  }

  return {
    get areOpen() {
      return [...questions.values()].includes("open");
    },
    isAnswered: (tool) => tool.kind === "edit" && decidedFirst?.filePath === tool.filePath,
    asked: (tool) => void questions.set(tool.kind === "edit" ? tool.filePath : "", "open"),
    decided(filePath, isAccepted) {
      if (questions.get(filePath) !== "open") {
        const decision = { filePath };
        decidedFirst = decision;
        const forget = () => {
          if (decidedFirst === decision) decidedFirst = undefined;
        };
        setTimeout(forget, LATE_QUESTION_MS).unref();
      }
      const file = questionAbout(filePath);
      if (!isAccepted && [...questions.keys()].every((key) => key === file)) return false;
      if (isAccepted) questions.set(file, "accepted");
      else questions.delete(file);
      return true;
    },
    answered: () => questions.clear(),
    start() {
      decidedFirst = undefined;
    },
  };
}
