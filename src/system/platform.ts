/** Selects the implementation for this operating system. */
import { linux } from "./linux.ts";
import { macos } from "./macos.ts";
import type { System } from "./system.ts";

/**
 * Returns the implementation for an operating system. All Unix systems except Linux use the implementation of macOS.
 */
export function systemOf(name: NodeJS.Platform): System {
  return name === "linux" ? linux : macos;
}

export const platform = systemOf(process.platform);
