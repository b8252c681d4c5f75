/** Starts a Neovim with a running bridge. */
import type { Test } from "tap";
import { z } from "zod";
import { type CompanionClient, connectClient, type Discovery, readDiscovery } from "./client.ts";
import { type Nvim, type NvimOptions, startNvim } from "./nvim.ts";

const Status = z.object({
  state: z.enum(["stopped", "starting", "running", "stopping"]),
  port: z.int().optional(),
  pid: z.int().optional(),
  discovery_file: z.string().optional(),
  clients: z.preprocess(
    (clients) => (Array.isArray(clients) ? clients : []), // Lua encodes an empty table as an object
    z.array(z.object({ id: z.string(), name: z.string() })),
  ),
  diffs: z.preprocess(
    (diffs) => (Array.isArray(diffs) ? diffs : []),
    z.array(z.object({ filePath: z.string(), client: z.string() })),
  ),
});

/** A Neovim with the running plugin, and functions that read its state. */
export class RunningBridge {
  constructor(
    readonly test: Test,
    readonly nvim: Nvim,
  ) {}

  async status(): Promise<z.infer<typeof Status>> {
    return Status.parse(await this.nvim.lua("return require('gemini-bridge').status()"));
  }

  files(): Discovery[] {
    return readDiscovery(this.nvim.dirs.tmp);
  }

  /** Returns the discovery file. Fails if there are several. */
  file(): Discovery {
    const [file, ...others] = this.files();
    if (!file || others.length > 0) throw new Error(`${others.length} discovery files too many`);
    return file;
  }

  /** Connects a client. Waits until the status lists the client. */
  async client(name?: string): Promise<CompanionClient> {
    const { port, content } = this.file();
    const before = (await this.status()).clients.map(({ id }) => id);
    const client = await connectClient(this.test, {
      port,
      token: content.authToken,
      ...(name === undefined ? {} : { name }),
    });
    await this.nvim.waitFor(
      async () => (await this.status()).clients.some(({ id }) => !before.includes(id)),
      "the client to be listed",
    );
    return client;
  }

  /** Returns the process id of the running host. */
  async host(): Promise<number> {
    const { pid } = await this.status();
    if (pid === undefined) throw new Error("no host");
    return pid;
  }

  /**
   * Kills the host, and runs commands in the tick in which Neovim notices the end of the host. A separate request of
   * the test could arrive after the restart.
   * @returns the process id of the killed host
   */
  async crash(...commands: string[]): Promise<number> {
    const host = await this.host();
    const noticed = this.nvim.lua(
      `local commands = ...
      local function is_down() return require('gemini-bridge').status().state == 'starting' end
      assert(vim.wait(10000, is_down, 1), 'the host is not down')
      for _, command in ipairs(commands) do vim.cmd(command) end`,
      commands,
    );
    process.kill(host, "SIGKILL");
    await noticed;
    return host;
  }

  /**
   * Ends the host, and waits until the next host runs.
   * @param end Default: kills the host
   * @param timeout for the start of the next host (ms)
   * @returns the process id of the next host
   */
  async replaceHost(
    end: (host: number) => unknown = (host) => process.kill(host, "SIGKILL"),
    timeout?: number,
  ): Promise<number> {
    const host = await this.host();
    await end(host);
    return this.nextHost(host, timeout);
  }

  /** Waits until a host other than `before` runs. */
  async nextHost(before: number, timeout?: number): Promise<number> {
    await this.nvim.waitFor(
      async () => {
        const { state, pid } = await this.status();
        return state === "running" && pid !== before;
      },
      "the next host",
      timeout,
    );
    return this.host();
  }
}

/** Starts a Neovim, and starts the bridge in it. */
export async function startBridge(t: Test, options: NvimOptions = {}) {
  const nvim = await startNvim(t, options);
  await nvim.startBridge();
  return { bridge: new RunningBridge(t, nvim), nvim };
}

/** Starts a Neovim with a running bridge and one connected client. */
export async function startConnected(t: Test, options: NvimOptions = {}) {
  const { bridge, nvim } = await startBridge(t, options);
  return { bridge, nvim, client: await bridge.client() };
}
