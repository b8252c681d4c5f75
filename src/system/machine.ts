/** Identifies the machine or container, because a home directory may be shared by several. */
import { createHash } from "node:crypto";
import { hostname, platform } from "node:os";
import { isContainer } from "./container.ts";
import { readSmallSync } from "./small-file.ts";

/** Returns the same name for each process of a machine or container. Valid as a file name. */
export function machineName(): string {
  // The name of a Mac changes with its network.
  const id = platform() === "darwin" ? "" : machineId() || hostname();
  const name = isContainer() ? `${id} ${hostname()}` : id;
  return createHash("sha256").update(name).digest("hex").slice(0, 8);
}

function machineId(): string {
  try {
    return readSmallSync("/etc/machine-id").toString().trim();
  } catch {
    return "";
  }
}
