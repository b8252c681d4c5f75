/** Why a row may miss its goal, by the beginning of its name. */
const reasons: Readonly<Record<string, string>> = {
  "start of Neovim":
    "`--startuptime` says 0.15 ms for the plugin's file; what is more is the spread of two starts on a busy machine",
  ":GeminiStart until":
    "13 to 17 ms more than an attached process, for loading Fastify and the schemas, building the server and listening",
  ":GeminiStart blocks":
    "2 ms on a machine at rest: 0.7 to see whether the build is that of the sources, 1 for Lua modules, 0.3 for the process",
  BufEnter:
    "4 to 5 us: which file had the focus, and when, is recorded in the tick in which it got it, from three questions to Neovim",
  "event to notification":
    "0.5 ms more than a bare write: the snapshot in Lua, whether each file may be shared (asked of the disk each time), the transport's streams",
  "openDiff answered":
    "a review is more than a diff: its file type, keys, winbar and watches are 3 ms whatever the size; the hunks are counted, and the file and its buffer are read to see when they change: 30 ms for each MB",
  "openDiff blocks": "as above: 2 ms whatever the size, and 30 ms for each MB",
  ":GeminiAccept":
    "the text goes by way of Neovim's RPC, is checked, and is kept until it has arrived; the floor has it ready as JSON",
  "resident memory of the host after":
    "V8 keeps 12 MB of heap that it does not need any more; a limit given at its start would cost 30 ms of each start",
  "processor time of the host": "the server looks for connections that do not get on",
};

export function reasonFor(name: string): string | undefined {
  const [beginning, text] = Object.entries(reasons).find(([beginning]) => name.startsWith(beginning)) ?? [];
  return text && `${beginning} …: ${text}.`;
}
