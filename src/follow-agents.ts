/** Connects the features that follow agents: terminals, turns, names, missing hooks, and the answers to hooks. */
import type { Agent } from "./contract/hooks.ts";
import type { Boot } from "./contract/neovim.ts";
import type { ClientList } from "./http/client.ts";
import type { Route } from "./http/guard.ts";
import type { Profile } from "./profiles/profiles.ts";
import type { ServicesOptions } from "./services-options.ts";
import { platform } from "./system/platform.ts";
import { createNames } from "./turns/client-status.ts";
import { findClient } from "./turns/find-client.ts";
import { asksBefore, isGated } from "./turns/gate.ts";
import { createHooksRoute } from "./turns/hook-route.ts";
import { createHooksOff } from "./turns/hooks-off.ts";
import { createTerminals } from "./turns/terminals.ts";
import { createTurns } from "./turns/turns.ts";

/** The user's settings that change while the host runs. */
export interface Settings {
  gate: Boot["gate"];
  /** Whether nothing may be shared. */
  paused: boolean;
}

/** The features that know which agents work, where they run, and what they are called. */
export type Agents = ReturnType<typeof followAgents>;

/** @param interrupted sessions whose clients have noticed that an earlier host has ended */
export function followAgents(
  { bridge, boot, memory, profiles, remember }: ServicesOptions,
  clients: ClientList,
  interrupted: ReadonlySet<string>,
  settings: Settings,
) {
  const terminals = createTerminals(clients);
  const turns = createTurns({
    heard: memory.agents,
    remember: (agents) => remember({ agents }),
    isConnected: (id) => !interrupted.has(id) && clients.connected().some((client) => client.id === id),
    search: (agent) => findClient(clients, agent),
  });
  const hooksOff = createHooksOff({
    bridge,
    profiles,
    clients,
    turns,
    terminals,
    directories: boot.workspace.directories,
    isGated: (cli) => isGated(cli, settings.gate),
  });
  return { terminals, turns, names: createNames(profiles, turns, terminals), hooksOff };
}

interface HooksOptions extends Pick<ServicesOptions, "boot" | "log" | "profiles" | "report"> {
  agents: Agents;
  settings: Settings;
  /** Returns the text that tells an agent what the user has undone. */
  undone(agent: Agent): string | undefined;
}

/** Creates the route that answers the hooks of all CLIs. */
export function answerHooks({ boot, log, profiles, report, agents, settings, undone }: HooksOptions): Route {
  const { turns, hooksOff } = agents;
  const profileOf = (cli: string) => profiles.find(({ name }) => name === cli);
  return createHooksRoute({
    listeners: [turns.handle, hooksOff.listener],
    tells({ agent }) {
      const text = boot.options.tellAgent && !settings.paused ? undone(agent) : undefined;
      if (text !== undefined) report({ told: { cli: agent.cli, text, at: Date.now() } });
      return text;
    },
    asks: (event) =>
      asksBefore(event, settings.gate, () => canAnswer(event.agent, profileOf(event.agent.cli), turns)),
    gateOf: (cli) => profileOf(cli)?.gate,
    log,
  });
}

/** Returns whether a user can answer questions of the agent's CLI. */
async function canAnswer(
  agent: Agent,
  profile: Profile | undefined,
  turns: Agents["turns"],
): Promise<boolean> {
  const { headless = [] } = profile ?? {};
  const isConnected = (await turns.findClient(agent)) !== undefined;
  if (!isConnected || headless.length === 0 || agent.pid === undefined) return isConnected;
  return !(await platform.words(agent.pid)).some((word) => headless.includes(word));
}
