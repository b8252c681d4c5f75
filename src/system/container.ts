/**
 * Containers as Gemini CLI sees them (0.61.0, `getIdeServerHost`): inside of one it dials `host.docker.internal`
 * instead of 127.0.0.1.
 */
import { existsSync } from "node:fs";
import type { Variables } from "./system.ts";

const MARKS = ["/.dockerenv", "/run/.containerenv"];

/** Any of these variables makes the CLI dial 127.0.0.1 all the same. */
const DIAL_LOOPBACK = ["SSH_CONNECTION", "REMOTE_CONTAINERS", "VSCODE_REMOTE_CONTAINERS_SESSION"];

/** What makes this machine look like a container to the CLI. */
export function containerMark(): string | undefined {
  return MARKS.find((path) => existsSync(path));
}

/** Whether this machine looks like a container to the CLI. */
export function isContainer(): boolean {
  return containerMark() !== undefined;
}

/** The variable, if there is one, that makes a CLI with this environment dial 127.0.0.1 inside a container. */
export function dialsLoopback(env: Variables): string | undefined {
  return DIAL_LOOPBACK.find((name) => env[name]);
}

/** What a CLI on this machine needs beside its environment to dial 127.0.0.1. */
export function loopbackVariables(env: Variables): Record<string, string> {
  return isContainer() && !dialsLoopback(env) ? { REMOTE_CONTAINERS: "true" } : {};
}
