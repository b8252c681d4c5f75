/** Selects the implementation for this operating system. */
import { linux } from "./linux.ts";
import { macos } from "./macos.ts";
import type { System } from "./system.ts";

/** Returns the implementation for a platform: that of macOS for any Unix other than Linux. */
export function systemOf(platform: NodeJS.Platform): System {
  return platform === "linux" ? linux : macos;
}

export const here = systemOf(process.platform);
