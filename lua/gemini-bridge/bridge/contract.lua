--- The Lua side of src/contract: the classes that Lua uses, and the checks at run time. Written by `make doc`.
-- luacheck: no max line length
-- stylua: ignore start

---@class gemini_bridge.ClientInfo
---@field id string Session id.
---@field cli string Name of the CLI in the option `clis`.
---@field label string Name of that CLI for the user.
---@field name string
---@field version string
---@field connectedAt number Unix milliseconds.
---@field port? integer The CLI's port of the connection of its event stream.
---@field interrupted boolean Whether the CLI shows "Disconnected" until the user types `/ide enable` there.
---@field activity "idle"|"working"|"waiting" Activity of the agent, according to its hooks and its open reviews.
---@field turn boolean Whether a turn of the agent runs, according to its hooks.
---@field hooks boolean Whether a hook of the CLI was received. Without hooks, its edits are neither tracked nor gated.
---@field hooksOff? string Why the hooks of the CLI are off, as the end of a sentence, if they are.
---@field terminal? string The terminal of `:Gemini` in which the CLI runs, if known.

---@class gemini_bridge.Shared
---@field paused boolean Whether the user has paused sharing, or has not allowed it yet.
---@field files string[] Absolute paths of the open files, the last focused first.
---@field active? string Path of the active file.
---@field selected? integer Length of the selected text (UTF-16 units).
---@field excluded? string Path of the active file if it must not be shared.

---@class gemini_bridge.Decided
---@field path? string The first file of the decision.
---@field hunk? number Id of the first hunk in this file that is undecided again.

---@class gemini_bridge.Editors
---@field count integer
---@field pid integer Process of the editor that the CLI chooses.
---@field isOwn boolean Whether the CLI chooses this Neovim.

---@class gemini_bridge.Memory
---@field sessions { id: string, credential: string, connectedAt: number, name: string, version: string, protocolVersion: string, interrupted: boolean }[]
---@field editorSessions { id: string, credential: string, connectedAt: number, name: string, version: string, protocolVersion: string }[]
---@field agents { cli: string, session: string, cwd: string, pid?: integer }[]
---@field diffs { id: integer, sessionId: string, filePath: string, label: string, baseline?: { disk: string, proposed: string, edited: boolean } }[]

---@class gemini_bridge.Boot
---@field editor { idePid: integer, pid: integer, instance: string }
---@field paths { log: string, state: string, hook: string }
---@field workspace gemini_bridge.events.workspace
---@field sharing { paused: boolean, exclude: string[] }
---@field gate gemini_bridge.events.gate
---@field options { logLevel: "debug"|"info"|"warn"|"error", connect: boolean, tellAgent: boolean, tools?: string[], prompts: table<string, { description: string, text: string }> }
---@field clis gemini_bridge.BootCli[]
---@field server { maxSessions: integer, grace: number, bodyLimit: integer }
---@field answers { items: integer, units: integer, timeout: integer }
---@field notes integer
---@field reviews { lastId: integer, decisions: [string, any][] }
---@field previous? { port: integer, tokens: table<string, string>, memory?: gemini_bridge.Memory, endedAt: number, wasStopped: boolean }

---@class gemini_bridge.Turn
---@field kind "started"|"waiting"|"resumed"|"ended"
---@field cli string Name of the profile.
---@field session string Session id of the CLI itself.
---@field cwd string
---@field id? string Session id of the connected client.
---@field terminal? string The terminal of `:Gemini` in which the agent runs, if known.
---@field prompt? string Set at the start.
---@field tool? { kind: "edit"|"shell"|"other", name: string, filePath?: string, command?: string } The tool for which the agent waits.

---@class gemini_bridge.FileEdits
---@field path string
---@field tick? integer The buffer's tick when the server was asked.
---@field version? integer The version of the document that the server names.
---@field since? number When the server was asked (Unix milliseconds). A file without a buffer must not have changed since.
---@field steps { range: { start: { line: integer, character: integer }, end: { line: integer, character: integer } }, newText: string }[][] Edits in the order in which they apply. The positions of a step refer to the text after the step before.

---@class gemini_bridge.BootCli
---@field name string
---@field like "gemini"|"qwen"|"llxprt"|"claude"|"opencode"
---@field cmd string[]
---@field label? string
---@field directory? string
---@field file? string
---@field env? string
---@field settings? string

---@class gemini_bridge.HostStatus
---@field state "starting"|"running"|"stopping"|"stopped"
---@field version? string Version of the plugin.
---@field build? string Identifies the build of the host, to detect a host that predates an update.
---@field port? integer
---@field pid? integer Process id of the Node host.
---@field discoveryFiles? string[] One for each kind of CLI.
---@field tokens? table<string, string> By CLI. Stored in Lua for the next host.
---@field workspace string[]
---@field clients gemini_bridge.ClientInfo[]
---@field hooks? boolean Whether a hook of any CLI was received, connected or not.
---@field obstacles? table<string, string> By CLI: the reason why it asks in Neovim's terminals before it connects, if it does.
---@field shared? gemini_bridge.Shared Set while a CLI is connected.
---@field calls? integer Number of tool calls by models.
---@field toolClients? { name: string, version: string }[] The clients whose models can call tools.
---@field told? { cli: string, text: string, at: number } The last message to an agent about the user's decisions.
---@field error? string The reason for a failed start.

---@class gemini_bridge.Change
---@field path string Absolute, without links.
---@field status "modified"|"added"|"deleted"
---@field added integer Number of lines.
---@field removed integer Number of lines.
---@field hunks gemini_bridge.ChangeHunk[]
---@field decided integer Number of hunks in this file that the user has already kept or undone.
---@field cli string Profile of the CLI of the newest turn with undecided hunks in the file.
---@field turn number Start of that turn (Unix milliseconds).
---@field prompt string Prompt of that turn, if known.
---@field together? string Reason why the change is undone only as a whole, if any: others have written the file, too.
---@field fixed? string Reason why the change cannot be undone, if any.

---@class gemini_bridge.ChangeHunk
---@field id integer Unique in the file. Stays the same until the hunk is edited.
---@field line integer First line in the file on disk, 1-based. For a removal: the line above, 0 at the top.
---@field count integer Number of current lines; 0 for a removal.
---@field old integer First line in the earlier text, 1-based. For an insertion: the line above, 0 at the top.
---@field removed integer Number of earlier lines.
---@field conflict boolean Whether the user has edited the hunk since, so that it cannot be undone.
---@field turn number Start of the turn that edited the hunk last (Unix milliseconds).

---@class gemini_bridge.HistoryEntry
---@field id string
---@field at number Unix seconds.
---@field cli string Name of the profile.
---@field turn number Start of the turn (Unix milliseconds); 0 without a hook.
---@field prompt string
---@field path string
---@field kind "proposed"|"accepted"|"edited"|"rejected"|"written"

---@class gemini_bridge.calls.attach
---@field channel? integer
---@field pid integer

---@class gemini_bridge.calls.request
---@field id integer
---@field name string
---@field params any

---@class gemini_bridge.calls.answered
---@field id integer
---@field result? any
---@field error? string

---@class gemini_bridge.calls.set_environment
---@field set table<string, string>
---@field unset string[]
---@field clis table<string, string>
---@field arguments table<string, string[]>
---@field variables table<string, table<string, string>>

---@class gemini_bridge.calls.context_subscribe
---@field events string[]
---@field debounce number
---@field maxWait number
---@field maxSelection integer

---@class gemini_bridge.calls.decision_settled
---@field id integer
---@field delivered boolean
---@field filePath string
---@field problem? string

---@class gemini_bridge.calls.model_watch
---@field on boolean
---@field selection boolean

---@class gemini_bridge.calls.diff_open
---@field id integer
---@field filePath string As the CLI spells it.
---@field newContent string
---@field textId string Identifies the text across hosts, so that an unedited one is accepted by id.
---@field client string Name of the client.
---@field label string Name of the CLI for the user.

---@class gemini_bridge.calls.diff_update
---@field id integer
---@field stale boolean

---@class gemini_bridge.calls.diff_close
---@field id integer
---@field reason "answered"|"cancelled"|"cli"|"disconnected"|"stopped"|"written"

---@class gemini_bridge.calls.change_show
---@field path string
---@field change? gemini_bridge.Change
---@field written boolean
---@field edited boolean
---@field decision? "kept"|"undone"

---@class gemini_bridge.calls.turn_changes
---@field cli string
---@field terminal? string
---@field files integer
---@field added integer
---@field removed integer
---@field incomplete? string

---@class gemini_bridge.calls.prompt_found
---@field id integer
---@field name string
---@field cwd string
---@field quotesPaths boolean

---@class gemini_bridge.calls.prompt_open
---@field id integer

---@class gemini_bridge.calls.prompt_waits
---@field id integer
---@field reason string
---@field say boolean

---@class gemini_bridge.calls.prompt_done
---@field id integer
---@field typed boolean
---@field problem? string

---@class gemini_bridge.calls.screen_watch
---@field buf integer
---@field on boolean

---@class gemini_bridge.calls.screen_type
---@field buf integer
---@field tick integer
---@field paste? string
---@field keys? string

---@class gemini_bridge.results.prompt_places
---@field cmd string[]
---@field buffers { buf: integer, pid: integer }[]
---@field directories string[]

---@class gemini_bridge.results.prompt_found
---@field text string
---@field references? { path: string, lines?: [number, number] }[]
---@field userText string

---@class gemini_bridge.results.screen_type
---@field typed boolean

---@class gemini_bridge.events.workspace
---@field directories string[]

---@class gemini_bridge.events.gate
---@field all boolean
---@field clis table<string, boolean>

---@class gemini_bridge.questions.read
---@field path string
---@field from integer
---@field to integer
---@field units integer

---@class gemini_bridge.questions.lines
---@field path string
---@field numbers integer[]

---@class gemini_bridge.questions.diagnostics
---@field paths string[]
---@field unopened string[]
---@field severity integer
---@field limit integer

---@class gemini_bridge.questions.document
---@field path string
---@field method string
---@field line? integer
---@field timeout number

---@class gemini_bridge.questions.request
---@field server integer
---@field path? string
---@field method string
---@field params table<string, any>
---@field timeout number
---@field limit integer
---@field isEdit boolean Whether the answer must include the versions of the texts.

---@class gemini_bridge.questions.settle
---@field paths string[]
---@field timeout number

---@class gemini_bridge.questions.open_file
---@field path string
---@field line? integer

---@class gemini_bridge.questions.preview_edits
---@field files gemini_bridge.FileEdits[]
---@field encoding string
---@field isReview boolean

---@class gemini_bridge.questions.apply_edit
---@field file gemini_bridge.FileEdits
---@field encoding string

---@class gemini_bridge.questions.finish_edit
---@field path string
---@field tick integer
---@field written boolean

---@class gemini_bridge.questions.set_quickfix
---@field title string
---@field items { path: string, line: integer, text: string }[]

---@class gemini_bridge.replies.history_texts
---@field before string[] Lines without line breaks.
---@field after string[] Lines without line breaks.

return {
  --- The client name that Gemini CLI and derived CLIs report.
  CLI_NAME = "streamable-http-client",
  --- The required parameters of the calls from Node, with their types.
  CALLS = {
    attach = { pid = "number" },
    status = { state = "string", workspace = "table", clients = "table" },
    request = { id = "number", name = "string", params = "table" },
    answered = { id = "number" },
    set_environment = { set = "table", unset = "table", clis = "table", arguments = "table", variables = "table" },
    message = { level = "string", text = "string" },
    turn = { kind = "string", cli = "string", session = "string", cwd = "string" },
    context_subscribe = { events = "table", debounce = "number", maxWait = "number", maxSelection = "number" },
    context_unsubscribe = {},
    remember = { sessions = "table", editorSessions = "table", agents = "table", diffs = "table" },
    decision_settled = { id = "number", delivered = "boolean", filePath = "string" },
    decision_read = { id = "number" },
    model_watch = { on = "boolean", selection = "boolean" },
    diff_open = { id = "number", filePath = "string", newContent = "string", textId = "string", client = "string", label = "string" },
    diff_read = { id = "number" },
    diff_update = { id = "number", stale = "boolean" },
    diff_close = { id = "number", reason = "string" },
    file_changed = { path = "string" },
    changes_follow = { active = "boolean" },
    change_show = { path = "string", written = "boolean", edited = "boolean" },
    turn_changes = { cli = "string", files = "number", added = "number", removed = "number" },
    files_open = {},
    prompt_places = {},
    prompt_found = { id = "number", name = "string", cwd = "string", quotesPaths = "boolean" },
    prompt_open = { id = "number" },
    prompt_waits = { id = "number", reason = "string", say = "boolean" },
    prompt_done = { id = "number", typed = "boolean" },
    screen_watch = { buf = "number", on = "boolean" },
    screen_type = { buf = "number", tick = "number" },
  },
}
