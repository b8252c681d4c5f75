/**
 * Finds out whether the hooks of a connected CLI are off: a setting of the CLI turns them off, or the CLI proposes an
 * edit without a hook. Without hooks, the gate does nothing, and the changes of the CLI are not listed.
 */
import { basename, dirname } from "node:path";
import type { AgentEvent } from "../contract/hooks.ts";
import type { Client, ClientList } from "../http/client.ts";
import type { Bridge } from "../neovim/bridge.ts";
import type { Profile } from "../profiles/profiles.ts";
import { findHooksOff, readSettings } from "../profiles/settings.ts";
import { createFileWatch } from "../system/file-watch.ts";
import type { Terminals } from "./terminals.ts";
import type { Turns } from "./turns.ts";

/** Maximum time between the hook before an edit and the proposal of this edit (ms). */
const HOOK_BEFORE_PROPOSAL_MS = 10_000;

/** Some CLIs run the hook while the review opens. Time to wait for such a hook (ms). */
const LATE_HOOK_MS = 2_000;

const NO_HOOK = "it has proposed an edit without calling a hook";

interface IdAndCli {
  readonly id: string;
  /** `credential`: name of the CLI's profile. */
  readonly info: { readonly credential: string };
}

export interface HooksOff {
  /** Adds a listener that is called when a reason was found or has gone. */
  onChanged(listener: () => void): void;
  /** Returns why the hooks of a client are off, as the end of a sentence; undefined if nothing shows that they are. */
  reasonFor(client: IdAndCli): string | undefined;
  /** Receives hook events. */
  listener(event: AgentEvent): void;
  /** Must be called when a client proposes an edit. */
  proposed(client: Client, filePath: string): void;
  /** Reads the settings again. Must be called when clients, terminals or the gate have changed. */
  refresh(): void;
  /** Must be called when directories are opened in Neovim. */
  opened(directories: readonly string[]): void;
  /** Stops watching the settings. Idempotent. */
  close(): void;
}

interface HooksOffOptions {
  profiles: readonly Profile[];
  clients: Pick<ClientList, "connected">;
  turns: Pick<Turns, "clientOf" | "hasHooks">;
  terminals: Pick<Terminals, "directoryOf">;
  /** The directories that are open in Neovim. */
  directories: readonly string[];
  /** Returns whether the gate is on for a CLI. */
  isGated(cli: string): boolean;
  bridge: Pick<Bridge, "tell">;
}

/** Describes the hooks of a client. Times are Unix milliseconds. */
interface Heard {
  directory: string;
  lastHook: number;
  /** Time of the last hook before an edit, by name of the file. */
  edits: ReadonlyMap<string, number>;
}

export function createHooksOff(options: HooksOffOptions): HooksOff {
  const { profiles, clients, turns, terminals, isGated, bridge } = options;
  const listeners: (() => void)[] = [];
  let open = options.directories;
  const heard = new Map<string, Heard>();
  /** Clients that have proposed an edit without a hook. */
  const silent = new Set<string>();
  /** Settings that turn hooks off, by CLI and directory. `since`: when the setting was first seen. */
  const found = new Map<string, { reason: string; since: number }>();
  const told = new Set<string>();
  const watch = createFileWatch(refresh);

  const profileOf = (cli: string) => profiles.find(({ name }) => name === cli);
  const changed = () => {
    for (const listener of listeners) listener();
  };
  const keyOf = (cli: string, directory: string) => `${cli} ${directory}`;

  /** Returns the directories in which a client may run. */
  function directoriesOf(id: string): readonly string[] {
    const directory = heard.get(id)?.directory ?? terminals.directoryOf(id);
    return directory === undefined ? open : [directory];
  }

  function reasonFor({ id, info }: IdAndCli): string | undefined {
    const { lastHook = 0 } = heard.get(id) ?? {};
    const isOff = directoriesOf(id)
      .map((directory) => found.get(keyOf(info.credential, directory)))
      .find((setting) => setting !== undefined && lastHook <= setting.since);
    return isOff?.reason ?? (silent.has(id) ? NO_HOOK : undefined);
  }

  /** Reads the settings of a CLI in a directory. @returns the files to watch */
  function read(profile: Profile, directory: string): string[] {
    const files = readSettings(profile, process.env, directory);
    const key = keyOf(profile.name, directory);
    const reason = findHooksOff(profile, files);
    if (reason === undefined) found.delete(key);
    else if (found.get(key)?.reason !== reason) found.set(key, { reason, since: Date.now() });
    // The folder of a settings file may be created later.
    return files.flatMap(({ path }) => [path, dirname(path)]);
  }

  /** Returns the CLIs and directories whose settings can turn off the hooks of the connected clients. */
  function settingsOf(connected: readonly IdAndCli[]): Map<string, [Profile, string]> {
    const wanted = new Map<string, [Profile, string]>();
    for (const { id, info } of connected) {
      const profile = profileOf(info.credential);
      if (!profile || profile.hooksOff.length === 0) continue;
      for (const directory of directoriesOf(id))
        wanted.set(keyOf(profile.name, directory), [profile, directory]);
    }
    return wanted;
  }

  function refresh(): void {
    const before = JSON.stringify([...found]);
    const connected = clients.connected();
    const wanted = settingsOf(connected);
    for (const key of found.keys()) if (!wanted.has(key)) found.delete(key);
    watch.set([...wanted.values()].flatMap(([profile, directory]) => read(profile, directory)));
    const ids = new Set(connected.map(({ id }) => id));
    for (const id of [...heard.keys(), ...silent])
      if (!ids.has(id)) [heard, silent].map((all) => all.delete(id));
    if (JSON.stringify([...found]) !== before) changed();
    tellAll();
  }

  /** Tells the user each reason once, if the gate is on or if the hooks have worked before. */
  function tellAll(): void {
    for (const client of clients.connected()) {
      const reason = reasonFor(client);
      const cli = client.info.credential;
      const isOn = isGated(cli);
      if (reason === undefined || told.has(`${cli} ${reason}`) || !(isOn || turns.hasHooks(client.id)))
        continue;
      told.add(`${cli} ${reason}`);
      tell(cli, reason, isOn);
    }
  }

  function tell(cli: string, reason: string, isOn: boolean): void {
    const effect = isOn
      ? `does not ask before edits, although the gate is on, and its changes are not listed`
      : `no longer reports its changes`;
    const label = profileOf(cli)?.label ?? cli;
    const text = `${label} ${effect}, because its hooks are off: ${reason}. Turn them on, then restart the CLI.`;
    bridge.tell("message", { level: "warn", text });
  }

  return {
    onChanged: (listener) => void listeners.push(listener),
    reasonFor,
    listener({ agent, ...event }) {
      const id = turns.clientOf(agent);
      if (id === undefined) return;
      const client = { id, info: { credential: agent.cli } };
      const reason = reasonFor(client);
      const before = heard.get(id);
      const now = Date.now();
      const edits = new Map(
        [...(before?.edits ?? [])].filter(([, at]) => at > now - HOOK_BEFORE_PROPOSAL_MS),
      );
      if (event.kind === "tool_starting" && event.tool.kind === "edit")
        edits.set(basename(event.tool.filePath), now);
      heard.set(id, { directory: agent.cwd, lastHook: now, edits });
      silent.delete(id);
      if (before?.directory !== agent.cwd) refresh();
      if (reasonFor(client) !== reason) changed();
    },
    proposed({ id, info }, filePath) {
      const earliest = Date.now() - HOOK_BEFORE_PROPOSAL_MS;
      if (!profileOf(info.credential)?.gate || !turns.hasHooks(id)) return;
      const check = () => {
        const at = heard.get(id)?.edits.get(basename(filePath)) ?? 0;
        if (at >= earliest || silent.has(id)) return;
        silent.add(id);
        changed();
        tellAll();
      };
      setTimeout(check, LATE_HOOK_MS).unref();
    },
    refresh,
    opened(directories) {
      open = directories;
      refresh();
    },
    close: watch.close,
  };
}
