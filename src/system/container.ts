/**
 * Identifies the machine or container, and recognizes containers as Gemini CLI does (0.61.0, `getIdeServerHost`). In a
 * container, Gemini CLI connects to `host.docker.internal` instead of 127.0.0.1.
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { attempt } from "../base/attempt.ts";
import { readSmallSync } from "./small-file.ts";
import type { Variables } from "./system.ts";

const MARKER_FILES = ["/.dockerenv", "/run/.containerenv"];

/** Environment variables that make Gemini CLI connect to 127.0.0.1 even in a container. */
const LOOPBACK_VARIABLES = ["SSH_CONNECTION", "REMOTE_CONTAINERS", "VSCODE_REMOTE_CONTAINERS_SESSION"];

/** Returns the file by which Gemini CLI recognizes a container. Returns undefined if there is no such file. */
export function containerMark(): string | undefined {
  return MARKER_FILES.find((path) => existsSync(path));
}

/**
 * Returns the name of the variable in `env` that makes a CLI in a container connect to 127.0.0.1. Returns undefined if
 * no such variable is set.
 */
export function dialsLoopback(env: Variables): string | undefined {
  return LOOPBACK_VARIABLES.find((name) => env[name]);
}

/** Returns the variables that must be added so that a CLI on this machine connects to 127.0.0.1. */
export function loopbackVariables(env: Variables): Record<string, string> {
  return containerMark() && !dialsLoopback(env) ? { REMOTE_CONTAINERS: "true" } : {};
}

/**
 * Returns a name for this machine or container, valid as a file name. All processes on the machine get the same name.
 * Another machine or container gets another name, even if it shares the home directory. Exception: all Macs get the
 * same name.
 */
export function machineName(): string {
  // Uses no name on a Mac: the host name of a Mac changes with the network.
  const id = process.platform === "darwin" ? "" : machineId() || hostname();
  const name = containerMark() ? `${id} ${hostname()}` : id;
  return createHash("sha256").update(name).digest("hex").slice(0, 8);
}

function machineId(): string | undefined {
  return attempt(() => readSmallSync("/etc/machine-id").toString().trim());
}
