/**
 * Starts and controls other plugins that implement Gemini CLI's companion protocol. Needs a checkout of each measured
 * plugin.
 */
import { basename, delimiter, join } from "node:path";
import { root } from "../../test/support/nvim.ts";
import type { Subject } from "../subject.ts";

type Adapter = Pick<Subject, "start" | "accept"> & Partial<Subject>;

const adapters: Readonly<Record<string, Adapter>> = {
  // nvim-gemini-companion runs its server in Neovim itself, and starts the server in setup(). It writes no discovery
  // file: CLIs find the server by environment variables. The plugin sets these variables only in its own terminal, so
  // `endpoint` reads the port from Lua.
  "nvim-gemini-companion": {
    // Disables the news window of nvim-gemini-companion, because it would replace the file's window.
    init: "package.loaded['gemini.announce'] = { setup = function() end }\n",
    start: "bench_options = {} require('gemini').setup(bench_options)",
    endpoint: "return bench_options.port and { port = bench_options.port, token = '' }",
    env: {
      // nvim-gemini-companion needs the CLI on PATH.
      PATH: [join(root, "node_modules", ".bin"), process.env["PATH"]].join(delimiter),
      // Hides messages about broken connections, because they would open a prompt and block Neovim.
      NGC_LOG_LEVEL: "fatal",
    },
    // In nvim-gemini-companion, the user accepts a proposal by writing its buffer and closing the window.
    accept: `for _, win in ipairs(vim.api.nvim_list_wins()) do
      local buf = vim.api.nvim_win_get_buf(win)
      if vim.wo[win].diff and vim.bo[buf].buftype == 'acwrite' then
        vim.api.nvim_buf_call(buf, function() vim.cmd('silent write') end)
        vim.api.nvim_win_close(win, true)
        break
      end
    end`,
  },
  // The server of McEazy2700/gemini-cli.nvim also runs in Neovim itself. The plugin writes its discovery file to a
  // directory where CLIs do not look. At commit 814e99c, its server cannot parse the requests of clients. Therefore,
  // only the start of the plugin is measured.
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

/** Reads an adapter from the environment variables PEER_START, PEER_ACCEPT and, optionally, PEER_ENDPOINT. */
function given(): Adapter | undefined {
  const { PEER_START: start, PEER_ACCEPT: accept, PEER_ENDPOINT: endpoint } = process.env;
  return start ? { start, accept: accept ?? "", ...(endpoint ? { endpoint } : {}) } : undefined;
}

/**
 * Returns another plugin as the subject of a measurement.
 * @param paths checkout of the other plugin, then checkouts of its dependencies, separated by `:`
 */
export function peerAt(paths: string): Subject {
  const folders = paths.split(delimiter);
  const name = basename(folders[0] ?? "");
  const adapter = given() ?? adapters[name];
  if (!adapter) throw new Error(`no adapter for ${name}: set PEER_START to Lua code that starts it`);
  const init = folders.map((folder) => `vim.opt.runtimepath:prepend(${JSON.stringify(folder)})\n`).join("");
  return { name, ...adapter, init: init + (adapter.init ?? "") };
}
