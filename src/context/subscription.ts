/** What Neovim is asked to tell while a CLI is connected. */

import { MAX_SELECTED_TEXT } from "../contract/companion.ts";
import type { Calls } from "../contract/neovim.ts";

export const SUBSCRIPTION: Calls["context_subscribe"] = {
  /** After these the context may be another one, and after each change of the focus, which is recorded. */
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
  /** The pause after the last event that the companion specification recommends (milliseconds). */
  debounce: 50,
  /** Under constant movement the context is out at least every 250 ms: the rest is for reading and sending it. */
  maxWait: 240,
  maxSelection: MAX_SELECTED_TEXT,
};
