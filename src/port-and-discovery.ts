/** Makes the bridge reachable: opens the port and publishes the discovery files. */
import type { Log } from "./base/log.ts";
import { sentence } from "./base/refusal.ts";
import type { Boot, Status } from "./contract/neovim.ts";
import { createWorkspacePublisher } from "./discovery/publisher.ts";
import { type Endpoint, listen } from "./http/listen-on-port.ts";
import type { Bridge, EventHandlers } from "./neovim/bridge.ts";
import { isActive } from "./profiles/discovery-paths.ts";
import { isSocketToken, type Profile, profilesOf, socketTokenOf } from "./profiles/profiles.ts";

/**
 * Time for which WebSocket clients try to reconnect (ms). After this time, a client never uses the same token again,
 * even if the user tells it to connect. Therefore, a client that has given up needs a new token.
 */
const RETURN_TIMEOUT_MS = 15_000;

interface PortAndDiscovery {
  readonly endpoint: Endpoint;
  /** Tokens for WebSockets, by profile. */
  readonly socketTokens: Endpoint["tokens"];
  /** Profiles of the CLIs that can connect. */
  readonly profiles: readonly Profile[];
  readonly handlers: Pick<EventHandlers, "announce" | "focused" | "workspace">;
  /**
   * Publishes the bridge.
   * @throws an abort error if the bridge stops meanwhile
   */
  publish(): Promise<void>;
}

interface PortAndDiscoveryOptions {
  bridge: Bridge;
  log: Log;
  boot: Boot;
  report: (change: Partial<Status>) => void;
  /** Aborted when the bridge stops. */
  signal: AbortSignal;
  /** Registers a function that undoes a completed step when the bridge stops. */
  undoWith: (dispose: () => unknown) => void;
}

/**
 * Opens the port. Requests wait until `endpoint.serve` is called.
 * @throws an abort error if the bridge stops meanwhile
 */
export async function openPortAndDiscovery(options: PortAndDiscoveryOptions): Promise<PortAndDiscovery> {
  const { bridge, log, boot, report, signal, undoWith } = options;
  const profiles = profilesOf(boot.clis).filter(isActive);
  const withSockets = profiles.filter(({ socket }) => socket);
  const { port, tokens: earlier = {}, endedAt = Date.now() } = boot.previous ?? {};
  const isLong = Date.now() - endedAt > RETURN_TIMEOUT_MS;
  const tokens = Object.entries(earlier).filter(([name]) => !(isLong && isSocketToken(name)));
  const endpoint = await listen({
    names: profiles.map(({ name }) => name),
    socketNames: withSockets.map(socketTokenOf),
    before: { port, tokens: Object.fromEntries(tokens) },
    log,
  });
  undoWith(endpoint.close);
  signal.throwIfAborted();
  log.info(`listening on port ${endpoint.port} for process ${boot.editor.idePid}`);

  const workspace = createWorkspacePublisher({
    bridge,
    log,
    address: endpoint,
    profiles,
    boot,
    report,
    signal,
  });
  undoWith(workspace.remove);

  /** Runs `publish`, and reports a failure to the user. */
  async function attempt(publish: () => void | Promise<void>): Promise<void> {
    try {
      await publish();
    } catch (error) {
      if (signal.aborted) return;
      log.error("the bridge could not be published:", error);
      bridge.tell("message", { level: "warn", text: sentence(error) });
    }
  }

  return {
    endpoint,
    socketTokens: Object.fromEntries(
      withSockets.map((profile) => [profile.name, endpoint.socketTokens[socketTokenOf(profile)] ?? ""]),
    ),
    profiles,
    handlers: {
      announce: () => attempt(workspace.restore),
      focused: workspace.refresh,
      workspace: ({ directories }) => attempt(() => workspace.publish(directories)),
    },
    publish: () => workspace.publish(boot.workspace.directories),
  };
}
