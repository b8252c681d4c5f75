/**
 * Explains why some rows may miss their goals. Each key is the beginning of a row's name. If several keys match a name,
 * the first key counts.
 */
const reasons: Readonly<Record<string, string>> = {
  "start of Neovim":
    "reading and compiling the plugin's file takes 0.1 ms, its 23 commands and their mappings 0.15 to 0.2 ms",
  ":GeminiStart until":
    "the host needs more than an attached process, in about equal parts: a bundle of four times the size, Node's modules for HTTP and hashes, the schemas of Lua's data, and the discovery file; with sources, checking the build takes 2 ms more",
  "setup()": "loading the schema of the options and its checks takes 0.8 ms on an idle machine",
  "hooks of an edit": "most of the time is needed to start bash twice, as the floor shows",
  ":GeminiStart blocks":
    "more than half is for loading Lua modules, a third for starting the process, and the rest for checking that the build belongs to the sources",
  "first CursorMoved":
    "after a pause, even an empty autocommand takes nearly as long, because Neovim's code is in no processor cache; ours reads the clock and sets a timer",
  ":GeminiAccept after a pause":
    "host and client have slept, and all of their code is cold; a bare server needs 1.5 ms for the notification alone",
  "longest block while a snapshot":
    "the call that moves the cursor counts as well; a plugin without a host has 0.27 to 0.29 ms in this row, and a long selection costs 0.1 ms for reading and sending 16,384 characters",
  "a diff is on the screen, 1 MB":
    "the answer takes 42 to 50 ms of it, see above; then Neovim computes the diff and draws",
  "a diff is on the screen":
    "Neovim sources the plugins of the file type and draws after the answer, which takes 4 ms; the timeline in README.md shows each step",
  "the first diff is on the screen":
    "the Lua modules of reviews are loaded with the first one, which takes 3.5 ms",
  "10 clients connect":
    "the host computes 5 ms for each client: four requests with HTTP, checks of host and token, schemas, and the status for Neovim",
  ":GeminiAccept blocks":
    "the decision is sent, the windows are closed and the layout is restored in one turn, so that keys typed ahead never reach an ended review",
  BufEnter: "recording which file was focused and when takes 0.2 us more than an empty autocommand",
  "longest block by format":
    "Neovim writes the text before and after the edit to temporary files, because only these bytes are exact, and sends both to the host: five times the work of one write",
  "event to notification":
    "0.3 ms more than a bare write: building the snapshot in Lua, validating it, and checking on disk whether each file may be shared",
  "openDiff answered, 1 KB":
    "of 6.8 ms on Neovim 0.12.4, the client takes 1.1 to send its request and 1.6 to read the answer, HTTP and MCP take 1.8, the round trip to Neovim 1.2, and Neovim 1.2; that is 0.9 more than a diff, for protecting the review against keys, closed windows and writes",
  "openDiff answered, 1 MB":
    "sending and parsing the request takes 12 ms, sending the text to the editor over RPC in pieces of 100 KB 8 ms, and splitting it into lines, filling the buffer and the diff 5 ms each",
  "openDiff answered": "the text is sent to Neovim over RPC, which the floor includes",
  "a request to Neovim right after":
    "setting the file type alone takes Neovim 1 to 3 ms, because it sources the file type's plugins each time; if this were delayed, a script could find a review without file type",
  "openDiff blocks the editor, 1 KB":
    "after the answer, the file type's plugins and the keys take 1 ms in a separate turn",
  "openDiff blocks": "the lines of the text twice, and diff mode",
  ":GeminiAccept":
    "the text is encoded as JSON, and its hash is stored to recognize what the CLI writes; the floor has both prepared",
  "a turn of":
    "the hooks alone take 40 %, as the floor shows; the rest, 1 to 2 ms for each file, reads the file twice, computes hunks, stores the earlier text and the history for the next host, and tells Neovim; no single step takes a tenth",
  "resident memory of the host, idle":
    "the MCP SDK, the HTTP server and the schemas need 9 MB more than a process that only attaches",
  "resident memory of the host after": "V8 keeps 7 MB of unused heap",
  "processor time of the host": "the server checks for stalled connections",
};

export function reasonFor(name: string): string | undefined {
  const [beginning, text] = Object.entries(reasons).find(([beginning]) => name.startsWith(beginning)) ?? [];
  return text && `${beginning} …: ${text}.`;
}
