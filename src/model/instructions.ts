/** What the model is told of the server, beside what each tool says of itself. */
export const INSTRUCTIONS = `Neovim is the editor that the user works in. Ask it for what only it knows.
After you have edited a file, call diagnostics with its path and settle: true before you say that you are done.
To find where a symbol is defined or used, prefer definition, references and workspace_symbols to a search for text.
When the user says "this", "here" or "what I selected", call selection.
A file with unsaved changes (see buffers) reads differently on disk: use read_buffer for it.
Paths are relative to the workspace, lines count from 1, and a symbol is given by its name as it stands on that line.`;
