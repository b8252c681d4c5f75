/** The system that this runs on. */
import { linux } from "./linux.ts";
import { macos } from "./macos.ts";
import type { System } from "./system.ts";

/** @returns for a system that is none of these, the one that asks programs of every Unix */
export function systemOf(platform: NodeJS.Platform): System {
  return platform === "linux" ? linux : macos;
}

export const here = systemOf(process.platform);
