/** Defines what the features of the host get when it starts. */
import type { Log } from "./base/log.ts";
import type { Boot, Memory, Status } from "./contract/neovim.ts";
import type { Address } from "./http/guard.ts";
import type { Bridge } from "./neovim/bridge.ts";
import type { Profile } from "./profiles/profiles.ts";

export interface ServicesOptions {
  version: string;
  bridge: Bridge;
  log: Log;
  boot: Boot;
  profiles: readonly Profile[];
  /** Port of the HTTP endpoint. */
  port: number;
  /** Tokens for WebSockets, by profile. */
  socketTokens: Address["tokens"];
  /** Data that an earlier host has stored. */
  memory: Memory;
  /** Whether the earlier host stopped so recently that its clients have not noticed the stop. */
  isSeamless: boolean;
  report: (change: Partial<Status>) => void;
  remember: (change: Partial<Memory>) => void;
}
