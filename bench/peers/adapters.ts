/**
 * How to start other plugins that implement Gemini CLI's companion protocol, and how to tell them what a user tells
 * them. None of their code is here: their checkouts are given by path.
 */
import { basename, delimiter, join } from "node:path";
import { root } from "../../test/support/nvim.ts";
import type { Subject } from "../subject.ts";

type Adapter = Pick<Subject, "start" | "accept"> & Partial<Subject>;

const adapters: Readonly<Record<string, Adapter>> = {
  // Serves from Neovim itself, as soon as it is set up; no discovery file, its own terminal is told the port.
  "nvim-gemini-companion": {
    // Its window of news would be where the file is expected.
    init: "package.loaded['gemini.announce'] = { setup = function() end }\n",
    start: "bench_options = {} require('gemini').setup(bench_options)",
    endpoint: "return bench_options.port and { port = bench_options.port, token = '' }",
    env: {
      // It wants the CLI to be installed.
      PATH: [join(root, "node_modules", ".bin"), process.env["PATH"]].join(delimiter),
      // What it reports of broken connections ends in a prompt, at which Neovim answers nothing.
      NGC_LOG_LEVEL: "fatal",
    },
    // Writing its buffer of the proposal and closing it accepts.
    accept: `for _, win in ipairs(vim.api.nvim_list_wins()) do
      local buf = vim.api.nvim_win_get_buf(win)
      if vim.wo[win].diff and vim.bo[buf].buftype == 'acwrite' then
        vim.api.nvim_buf_call(buf, function() vim.cmd('silent write') end)
        vim.api.nvim_win_close(win, true)
        break
      end
    end`,
  },
  // McEazy2700/gemini-cli.nvim serves from Neovim, too; its file is not where CLIs look. Its commit 814e99c finds no
  // request in what a client sends, so that no more than its start can be measured.
  "gemini-cli.nvim": {
    start: "require('gemini-cli').setup()",
    endpoint: `local server = require('gemini-cli.server')
      return server.port and { port = server.port, token = server.token }`,
    accept: `for _, win in ipairs(vim.api.nvim_list_wins()) do
      local buf = vim.api.nvim_win_get_buf(win)
      if vim.api.nvim_buf_get_name(buf):find('%(proposed%)$') then
        vim.api.nvim_set_current_win(win)
        vim.cmd('GeminiDiffAccept')
        break
      end
    end`,
  },
};

/** An adapter given on the command line: PEER_START and PEER_ACCEPT, and PEER_ENDPOINT where it is needed. */
function given(): Adapter | undefined {
  const { PEER_START: start, PEER_ACCEPT: accept, PEER_ENDPOINT: endpoint } = process.env;
  return start ? { start, accept: accept ?? "", ...(endpoint ? { endpoint } : {}) } : undefined;
}

/** @param paths the peer's checkout, and after `:` those of the plugins that it needs */
export function peerAt(paths: string): Subject {
  const folders = paths.split(delimiter);
  const name = basename(folders[0] ?? "");
  const adapter = given() ?? adapters[name];
  if (!adapter) throw new Error(`no adapter for ${name}: say how it is started in PEER_START (Lua)`);
  const init = folders.map((folder) => `vim.opt.runtimepath:prepend(${JSON.stringify(folder)})\n`).join("");
  return { name, ...adapter, init: init + (adapter.init ?? "") };
}
