/** Makes a shell program wait for its terminal. */

/**
 * Shell commands that return as soon as a terminal reads the output and answers: the terminal reports its status (DSR).
 * A program of a test is faster than any CLI: Neovim starts it before it has created the terminal, and may drop what
 * the program prints until then (seen with Neovim 0.10.4, where a busy machine lost the first line in one of ten
 * starts).
 */
export const ATTACHED = [
  "before=$(stty -g)",
  "stty raw -echo min 0 time 20", // a read returns after 2 s without an answer
  'until [ -n "$answer" ]; do printf "\\033[5n"; answer=$(dd bs=1 count=4 2>/dev/null); done',
  'stty "$before"',
].join("; ");
