/** Selects the implementation for this operating system. */
import { linux } from "./linux.ts";
import { macos } from "./macos.ts";
import type { System } from "./system.ts";

/** @returns the implementation of macOS for any other Unix */
export function systemOf(platform: NodeJS.Platform): System {
  return platform === "linux" ? linux : macos;
}

export const here = systemOf(process.platform);
