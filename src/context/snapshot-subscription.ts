/** Defines when Neovim sends snapshots while a CLI is connected, and how large they may be. */
import { MAX_SELECTED_TEXT } from "../contract/companion.ts";
import type { Calls } from "../contract/neovim.ts";

export const SUBSCRIPTION: Calls["context_subscribe"] = {
  /** Events that may change the context. Focus events are missing here, because Neovim always records the focus. */
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
  /** Debounce time, as recommended by the companion specification (milliseconds). */
  debounce: 50,
  /**
   * Maximum delay while the cursor keeps moving (milliseconds). Including the time for reading and sending, the context
   * then arrives within 250 ms.
   */
  maxWait: 240,
  maxSelection: MAX_SELECTED_TEXT,
};
