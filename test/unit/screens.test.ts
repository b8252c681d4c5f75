import t from "tap";
import { DRAWINGS, read, recognize } from "../../src/prompt/screens.ts";

/** Returns the end of a screen of Gemini CLI 0.61.0, from the line above the prompt to the footer. */
const gemini = (prompt: string, above = "✦ Hi there.\n\n") =>
  `${above}────────────────────────
 Shift+Tab to accept edits

  1 open file (F4 to view)
                        
${prompt}
                        
 workspace (/directory)             sandbox              /model
 /home/me/project                   no sandbox             Auto
`;

const QUESTION = `╭──────────────────────╮
│ ? WriteFile  greet.js │
│ Apply this change?    │
│                       │
│ ● 1. Allow once       │
│   2. Allow for this session
╰──────────────────────╯
`;

/** The question of Gemini CLI 0.61.0 about a file of the build. It also appears in auto-edit and YOLO mode. */
const BUILD_QUESTION = `╭──────────────────────────────────────────────────────────────╮
│ ? WriteFile  Writing to package.json                         │
│ ╭──────────────────────────────────────────────────────────╮ │
│ │ 1 + { "a": 1 }                                           │ │
│ ╰──────────────────────────────────────────────────────────╯ │
│                                                              │
│ ⚠  ⚠️ CRITICAL SECURITY WARNING: Build File Modification     │
│    Target: package.json                                      │
│    Inspect every line of the change below carefully before   │
│    approving.                                                │
│                                                              │
│ Apply this change?                                           │
│                                                              │
│ ● 1. Allow once                                              │
│   2. No, suggest changes (esc)                               │
╰──────────────────────────────────────────────────────────────╯
`;

/** Returns the end of a screen of Qwen Code 0.24.4. */
const qwen = (prompt: string, below = "  ➜ workspace · m\n  ⏸ Ask permissions (shift + tab to cycle)\n") =>
  `  > hi

  ◆︎ Hi there.

────────────────────────
${prompt}
────────────────────────
${below}`;

/** Returns the end of a screen of Claude Code 2.1.330. */
const claude = (prompt: string, below = "  ? for shortcuts · ← for agents              ● high · /effort\n") =>
  `❯ hi

● Hi there.

✻ Brewed for 0s

────────────────────────
${prompt}
────────────────────────
${below}`;

const EMPTY = " >   Type your message or @path/to/file";

/** Screens of these programs, and the expected states. */
const screens: [
  program: keyof typeof DRAWINGS,
  what: string,
  screen: string,
  state: string,
  text?: string,
  height?: number,
][] = [
  ["gemini", "nothing typed", gemini(EMPTY), "empty"],
  ["gemini", "in YOLO mode", gemini(EMPTY.replace(">", "*")), "empty"],
  ["gemini", "with its vim keys", gemini(" >   Press 'i' for INSERT mode."), "empty"],
  ["gemini", "without colours", gemini(`────────\n${EMPTY}\n────────`), "empty"],
  ["gemini", "details hidden", `✦ Hi there.\n\n      \n${EMPTY}\n`, "empty"],
  [
    "gemini",
    "for a screen reader",
    "User:  hi\nModel:  Hi.\n1 open file\n>    Type your message or @p\n",
    "empty",
  ],
  ["gemini", "a text", gemini(" > see this"), "typed", "seethis", 2],
  ["gemini", "a text and a line break", gemini(" > see this\n   "), "typed", "seethis", 3],
  ["gemini", "lines, one empty", gemini(" > a b\n\n   > c"), "typed", "ab>c", 4],
  ["gemini", "a list below", gemini(` > /se\n${" settings\n".repeat(8)}`), "menu", "/se", 1],
  ["gemini", "a question", ` > change it\n\n${QUESTION}`, "question"],
  ["gemini", "a question about a file of the build", ` > change it\n\n${BUILD_QUESTION}`, "question"],
  ["gemini", "a question above", gemini(EMPTY, ` > change it\n\n${QUESTION}\n`), "question"],
  ["gemini", "a question of before", gemini(EMPTY, `${QUESTION}\n > thanks\n\n✦ Fine.\n`), "empty"],
  ["gemini", "another dialog", " > /auth\n\n╭────────╮\n│ Sign in │\n╰────────╯\n", "absent"],
  [
    "gemini",
    "no prompt while it works",
    " > /compress\n⠋ Compressing\n────\n workspace (/directory)\n",
    "absent",
  ],
  ["gemini", "a shell's prompt", gemini(" !   Type your shell command"), "elsewhere"],
  ["gemini", "a search", gemini(" (r:)    Type your message or @path/to/file"), "elsewhere"],
  [
    "gemini",
    "keys go to a program",
    gemini(EMPTY, "│ ⊷  Shell read x  (Shift+Tab to unfocus) │\n"),
    "elsewhere",
  ],
  ["gemini", "nothing yet", "\n\n\n", "absent"],
  ["gemini", "a shell after its end", " > /quit\n\nAgent powering down. Goodbye!\n\n$ ", "absent"],
  ["qwen", "nothing typed", qwen(">   Type your message or @path/to/file"), "empty"],
  ["qwen", "in German", qwen(">   Nachricht eingeben oder @Pfad/zur/Datei"), "empty"],
  ["qwen", "a text", qwen("> see\n  this \u200b"), "typed", "seethis", 2],
  [
    "qwen",
    "a list below",
    qwen("> /se \u200b", `  > settings\n${"    skill\n".repeat(8)}`),
    "menu",
    "/se",
    1,
  ],
  ["qwen", "a shell's prompt", qwen("!   Type your message or @path/to/file"), "elsewhere"],
  [
    "qwen",
    "a question",
    "  > run\n  ? Shell touch foo ←\n\n   Allow execution of: 'touch'?\n\n   › 1. Yes, allow once\n     2. No (esc)\n",
    "question",
  ],
  ["claude", "nothing typed", claude("❯\u00a0"), "empty"],
  ["claude", "a proposal for a prompt", claude('❯\u00a0Try "fix lint errors"'), "empty"],
  ["claude", "the active file", claude("❯\u00a0[⧉ In a.txt]  "), "empty"],
  [
    "claude",
    "a text after the selection",
    claude("❯\u00a0[⧉ 2 lines selected]  see\n  this"),
    "typed",
    "seethis",
    2,
  ],
  ["claude", "while it works", claude("❯\u00a0", "  esc to interrupt · ← for agents\n"), "empty"],
  ["claude", "a text", claude("❯ see\n  this"), "typed", "seethis", 2],
  ["claude", "a list below", claude("❯ @a", `+ a.txt\n${"* an agent\n".repeat(8)}`), "absent"],
  ["claude", "a shell's prompt", claude("! ls", "  ! for shell mode\n"), "elsewhere"],
  [
    "claude",
    "a question",
    "❯ hi\n\n● Hi.\n\n❯ run\n\n● Bash(ls)\n\n────────\n Bash command\n Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel\n",
    "question",
  ],
];

t.test("the state of the prompt and its text are read from the screens of CLIs", async (t) => {
  for (const [program, what, screen, state, text = "", height] of screens) {
    const reading = read(screen.split("\n"), DRAWINGS[program]);
    t.same(reading, { state, text, ...(height && { height }) }, `${program}: ${what}`);
  }
});

t.test(
  "a suggestion counts as an empty prompt only if something shows that it is no text of the user",
  (t) => {
    const qwenLines = qwen("> run the tests").split("\n");
    const at = qwenLines.indexOf("> run the tests");
    const suggested = { state: "empty", text: "", suggestion: "runthetests" };
    t.match(read(qwenLines, DRAWINGS.qwen, { suggested: [at], isUntouched: false }), suggested);
    t.match(read(qwenLines, DRAWINGS.qwen, { suggested: [], isUntouched: true }), suggested);
    t.match(read(qwenLines, DRAWINGS.qwen, { suggested: [at - 1], isUntouched: false }), { state: "typed" });
    const claudeLines = claude("❯\u00a0run the tests").split("\n");
    t.match(read(claudeLines, DRAWINGS.claude, { suggested: [], isUntouched: true }), suggested);
    const geminiLines = gemini(" > run the tests").split("\n");
    t.match(read(geminiLines, DRAWINGS.gemini, { suggested: [], isUntouched: true }), { state: "typed" });
    t.end();
  },
);

t.test("a CLI is recognized by its screen, whatever its program is called", async (t) => {
  const recognized = (screen: string) => recognize(screen.split("\n"));
  t.equal(recognized(gemini(EMPTY)), DRAWINGS.gemini);
  t.equal(recognized(QUESTION), DRAWINGS.gemini);
  t.equal(recognized(qwen(">   Nachricht eingeben")), DRAWINGS.qwen);
  t.equal(recognized(claude("❯ ")), DRAWINGS.claude);
  t.equal(recognized("$ cat\n> quoted\n"), undefined);
  t.equal(recognized("ready\n"), undefined);
});
