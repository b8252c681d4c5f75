/** Remembers what agents have begun. The end of a turn may be handled after the agent has begun more in its next turn. */
import type { Agent } from "../contract/hooks.ts";

/** What has begun, by {@link keyOf}. `arrival`: number of the hook event that has reported it. */
export type BegunTools = Map<string, { readonly arrival: number }>;

/** @param name path or command that the agent's CLI has sent */
export function keyOf({ session }: Agent, name: string): string {
  return `${session} ${name}`;
}

/** Returns whether the newest event about the beginning has come after the event with the number `arrival`. */
export function hasBegunAfter(arrival: number, begun: BegunTools, agent: Agent, name: string): boolean {
  return (begun.get(keyOf(agent, name))?.arrival ?? 0) > arrival;
}

/** Forgets what an agent has begun before the event with the number `arrival`. */
export function forget(begun: BegunTools, agent: Agent, arrival: number): void {
  for (const [key, one] of begun)
    if (key.startsWith(keyOf(agent, "")) && one.arrival < arrival) begun.delete(key);
}
