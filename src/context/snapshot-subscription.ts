/** Defines which events and limits Neovim uses for snapshots while a CLI is connected. */
import { MAX_SELECTED_TEXT } from "../contract/companion.ts";
import type { Calls } from "../contract/neovim.ts";

export const SUBSCRIPTION: Calls["context_subscribe"] = {
  /** Events that may change the context. Focus changes are not listed, because they are always recorded. */
  events: [
    "BufAdd",
    "BufDelete",
    "BufFilePost",
    "BufWipeout",
    "BufWritePost",
    "CmdlineLeave",
    "CursorMoved",
    "CursorMovedI",
    "FocusGained",
    "ModeChanged",
    "OptionSet",
    "ShellCmdPost",
    "TextChangedP",
  ],
  /** Debounce recommended by the companion specification (milliseconds). */
  debounce: 50,
  /**
   * Maximum delay while the cursor keeps moving (milliseconds). With the time for reading and sending, the context
   * arrives within 250 ms.
   */
  maxWait: 240,
  maxSelection: MAX_SELECTED_TEXT,
};
