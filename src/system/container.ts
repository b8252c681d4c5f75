/**
 * Recognizes containers as Gemini CLI does (0.61.0, `getIdeServerHost`): in a container, it connects to
 * `host.docker.internal` instead of 127.0.0.1.
 */
import { existsSync } from "node:fs";
import type { Variables } from "./system.ts";

const MARKER_FILES = ["/.dockerenv", "/run/.containerenv"];

/** Variables with which the CLI connects to 127.0.0.1 in a container, too. */
const LOOPBACK_VARIABLES = ["SSH_CONNECTION", "REMOTE_CONTAINERS", "VSCODE_REMOTE_CONTAINERS_SESSION"];

/** The file by which the CLI takes this machine for a container, if there is one. */
export function containerMark(): string | undefined {
  return MARKER_FILES.find((path) => existsSync(path));
}

/** Whether the CLI takes this machine for a container. */
export function isContainer(): boolean {
  return containerMark() !== undefined;
}

/** The name of the set variable with which a CLI in a container connects to 127.0.0.1, if there is one. */
export function dialsLoopback(env: Variables): string | undefined {
  return LOOPBACK_VARIABLES.find((name) => env[name]);
}

/** Additional variables with which a CLI on this machine connects to 127.0.0.1. */
export function loopbackVariables(env: Variables): Record<string, string> {
  return isContainer() && !dialsLoopback(env) ? { REMOTE_CONTAINERS: "true" } : {};
}
