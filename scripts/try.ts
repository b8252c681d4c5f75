/** `make try`: opens an interactive Neovim with the running plugin and a sample project. */
import { spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nvimBinary, root } from "../test/support/nvim.ts";

const base = mkdtempSync(join(tmpdir(), "gemini-bridge-try-"));
const project = join(base, "project");
cpSync(join(root, "scripts", "sample"), project, { recursive: true });
mkdirSync(join(base, "nvim"));
writeFileSync(
  join(base, "nvim", "init.lua"),
  `vim.opt.runtimepath:prepend(${JSON.stringify(root)})\nrequire("gemini-bridge").setup({ autostart = true })\n`,
);

// Hides the user's configuration by setting XDG_CONFIG_HOME. Does not set HOME, because the CLI needs the user's home.
const nvim = spawn(nvimBinary(), ["greet.js"], {
  cwd: project,
  env: { ...process.env, XDG_CONFIG_HOME: base },
  stdio: "inherit",
});
nvim.once("exit", (code) => {
  rmSync(base, { recursive: true, force: true });
  process.exitCode = code ?? 1;
});
