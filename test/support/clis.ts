/** Starts a Neovim in which several CLIs are installed. */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Test } from "tap";
import { type Nvim, startNvim } from "./nvim.ts";

/**
 * Starts a Neovim whose home contains the folders of Qwen Code and of a CLI derived from Qwen Code. The programs of the
 * CLIs only store their arguments.
 */
export async function startWithClis(
  t: Test,
  options = "",
  env: Readonly<Record<string, string>> = {},
): Promise<Nvim> {
  const nvim = await startNvim(t, {
    env,
    files: { "a.txt": "a\n", "../home/.qwen/keep": "", "../home/.ola/keep": "" },
    init: `vim.env.PATH = vim.env.HOME .. '/bin:' .. vim.env.PATH
      require('gemini-bridge').setup({ ${options} })`,
  });
  mkdirSync(join(nvim.dirs.home, "bin"));
  for (const name of ["qwen", "ola", "gemini"]) {
    const program = join(nvim.dirs.home, "bin", name);
    writeFileSync(program, `#!/bin/sh\necho "$0" "$@" > "$HOME/run"\nexec cat\n`);
    chmodSync(program, 0o755);
  }
  return nvim;
}

/** A value of the option `clis`: a CLI derived from Qwen Code. */
export const OLA =
  'ola = { like = "qwen", directory = "~/.ola/ide", env = "OLA_CODE_IDE_", cmd = { "ola" } }';
