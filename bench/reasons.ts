/** Why a row may miss its goal, by the beginning of its name. */
const reasons: Readonly<Record<string, string>> = {
  "start of Neovim":
    "0.1 ms to read and compile the plugin's file, 0.15 to 0.2 for 23 commands and their maps in two modes",
  ":GeminiStart until":
    "what it has beyond an attached process before it can be found: a bundle four times as long to read and to check, Node's modules for HTTP and hashes, the schemas of what Lua tells, and the discovery file, in about equal parts; 2 ms more where the sources are there, to see whether the build is theirs",
  "setup()": "the options' schema and its checks are loaded: 0.8 ms on a machine at rest",
  "hooks of an edit": "most of it is bash, twice, which the floor shows",
  ":GeminiStart blocks":
    "2 ms on a machine at rest: 0.7 to see whether the build is that of the sources, 1 for Lua modules, 0.3 for the process",
  "first CursorMoved":
    "after a pause an empty autocommand alone takes nearly as long: Neovim's code for it is in no cache; ours reads the clock and sets a timer",
  ":GeminiAccept blocks":
    "the decision is told, the windows close and the layout is put back in the same turn, so that nothing typed ahead meets a review that has ended",
  BufEnter: "0.2 us more than an empty autocommand, to remember which file had the focus and when",
  "event to notification":
    "0.3 ms more than a bare write: the snapshot in Lua, what it says checked, and whether each file may be shared, which the disk is asked each time",
  "openDiff answered, 1 KB":
    "of 6.8 ms of one on 0.12.4 the client took 1.1 to send its request and 1.6 to read the answer, HTTP and MCP 1.8, the way to Neovim and back 1.2, and Neovim 1.2, 0.9 more than a diff: what keeps keys, windows and writes from losing a review",
  "openDiff answered, 1 MB":
    "the floor alone is about the goal or above it; to send and parse the request takes 12 ms, the text 8 to the editor by the RPC's socket, 100 KB at a time, and 5 each as lines, as a buffer and as a diff",
  "openDiff answered": "the text goes to Neovim by its RPC, which the floor counts, too",
  "a request to Neovim right after":
    "setting the file type alone is 1 to 3 ms of Neovim's, which sources its plugins anew each time; put off, a script that asks then would find a review without it",
  "openDiff blocks the editor, 1 KB":
    "1 ms, after the answer: the file type's plugins and the keys, in a turn of their own",
  "openDiff blocks": "the text's lines, twice, and diff mode",
  ":GeminiAccept":
    "the text becomes JSON, and its hash is kept for what the CLI writes; the floor has it ready",
  "resident memory of the host after": "V8 keeps 7 MB of heap that it does not need any more",
  "processor time of the host": "the server looks for connections that do not get on",
};

export function reasonFor(name: string): string | undefined {
  const [beginning, text] = Object.entries(reasons).find(([beginning]) => name.startsWith(beginning)) ?? [];
  return text && `${beginning} …: ${text}.`;
}
