/** Selects the implementation for this operating system. */
import { linux } from "./linux.ts";
import { macos } from "./macos.ts";
import type { System } from "./system.ts";

/** Returns the implementation by name: that of macOS for any Unix other than Linux. */
export function systemOf(name: NodeJS.Platform): System {
  return name === "linux" ? linux : macos;
}

export const platform = systemOf(process.platform);
