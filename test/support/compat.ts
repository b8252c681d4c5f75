/** Runs a session of a CLI with the CLI's own client code. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Test } from "tap";
import { z } from "zod";
import { type Nvim, type NvimOptions, root, startNvim } from "./nvim.ts";

/** The client code of a CLI, and how to run it. */
export interface ClientCode {
  /** Name for the log file of the session. */
  name: string;
  /** Modules with the client and the context of the CLI. */
  modules: readonly [client: string, context: string];
  /** Modules that are loaded first. */
  preload?: readonly string[];
  /** Node program that runs the client code. */
  node?: string;
  /** Program on PATH that `:Gemini` runs. Default: the shell in `:terminal` runs the client code. */
  program?: string;
}

/** File for which the clients propose changes. */
const FILE = "a.txt";

const Step = z.object({ step: z.string(), result: z.unknown() });
const Diffs = z.array(z.object({ filePath: z.string() }));

/** Starts a Neovim with a shell in `:terminal`. CLIs that run in this shell find the Neovim. */
export async function startCompat(t: Test, options: NvimOptions = {}): Promise<Nvim> {
  const nvim = await startNvim(t, {
    ...options,
    tui: true,
    files: { [FILE]: "one\ntwo\n", ...options.files },
    args: [FILE],
  });
  await nvim.type(":GeminiStart\r");
  await nvim.bridgeIs("running");
  await nvim.type(":botright split | terminal\ri");
  await nvim.waitFor("vim.api.nvim_get_mode().mode == 't'", "terminal mode");
  return nvim;
}

/** Returns the results of the steps that a client has logged, by step. */
function steps(log: string): Record<string, unknown> {
  if (!existsSync(log)) return {};
  const lines = readFileSync(log, "utf8").trim().split("\n");
  return Object.fromEntries(
    lines.map((line) => {
      const { step, result } = Step.parse(JSON.parse(line));
      return [step, result];
    }),
  );
}

async function waitForReview(nvim: Nvim, path: string): Promise<void> {
  await nvim.waitFor(async () => {
    const diffs = Diffs.parse(await nvim.lua("return require('gemini-bridge').diffs()"));
    return diffs.some(({ filePath }) => filePath === path);
  }, "the review");
}

/**
 * Runs a session: context, an accepted edit, a rejected edit, and an edit that the user accepts in the CLI.
 * @param rejects text that the client shows instead of "connected" if the CLI accepts no editor
 */
export async function playSession(t: Test, nvim: Nvim, code: ClientCode, rejects?: string): Promise<void> {
  const { name, modules, preload = [], node = "node", program } = code;
  for (const module of modules)
    if (!existsSync(module)) throw new Error(`${module} is missing: run \`make compat\``);
  const path = nvim.path(FILE);
  const log = join(nvim.dirs.home, `${name}.log`);
  const step = (wanted: string) => nvim.waitFor(() => wanted in steps(log), `"${wanted}" of ${name}`);
  const scripts = [join(root, "test/compat/outside.mjs"), ...preload].map((script) => `--import '${script}'`);
  const words = [join(root, "test/compat/client.mjs"), ...modules, path, log].map((word) => `'${word}'`);
  const command = `'${node}' ${[...scripts, ...words].join(" ")}`;
  if (program === undefined) await nvim.type(`${command}\r`);
  else {
    const bin = join(nvim.dirs.home, "bin");
    mkdirSync(bin, { recursive: true });
    writeFileSync(join(bin, program), `#!/bin/sh\nexec ${command}\n`, { mode: 0o755 });
    await nvim.lua("vim.env.PATH = ... .. ':' .. vim.env.PATH", bin);
    await nvim.command(`Gemini cli=${name}`);
  }

  await step("connect");
  t.equal(steps(log)["connect"], rejects ?? "connected");
  if (rejects !== undefined) return;
  await step("context");
  t.match(steps(log)["context"], { path, isActive: true, cursor: { line: 1, character: 1 } });

  await waitForReview(nvim, path);
  await nvim.lua(`
    local buf = vim.iter(vim.api.nvim_list_bufs()):find(function(buf) return vim.b[buf].gemini_diff end)
    vim.api.nvim_buf_set_lines(buf, 1, 1, false, { "edited" })
    require("gemini-bridge").accept()`);
  await step("accept");
  t.same(steps(log)["accept"], { status: "accepted", content: "proposed\nedited\n" });

  await waitForReview(nvim, path);
  await nvim.lua(`require("gemini-bridge").reject()`);
  await step("reject");
  t.match(steps(log)["reject"], { status: "rejected" });

  await waitForReview(nvim, path);
  writeFileSync(`${log}.go`, "");
  await step("close");
  t.same(steps(log)["close"], { status: "accepted", content: "undecided\n" });
  t.same(await nvim.lua("return require('gemini-bridge').diffs()"), []);
}
