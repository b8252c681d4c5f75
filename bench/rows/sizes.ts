/** Measures the sizes of the bundle, an installation and the packages. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { root } from "../../test/support/nvim.ts";
import { type Row, row } from "../table.ts";

/** Returns the size of a file, or of all files below a folder (bytes). */
function size(path: string): number {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) return 0;
  if (!found.isDirectory()) return found.size;
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((total, entry) => total + statSync(join(entry.parentPath, entry.name)).size, 0);
}

const Lock = z.object({ packages: z.record(z.string(), z.looseObject({ dev: z.boolean().optional() })) });

/** Returns the size of the packages that `npm ci --omit=dev` installs. The build needs these packages. */
function packages(): number {
  const { packages } = Lock.parse(JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")));
  return Object.entries(packages)
    .filter(
      ([path, { dev }]) =>
        path !== "" &&
        !dev &&
        !Object.keys(packages).some((p) => path.startsWith(`${p}/node_modules/`) && p !== ""),
    )
    .reduce((total, [path]) => total + size(join(root, path)), 0);
}

export function sizeRows(): Row[] {
  const dist = join(root, "dist");
  const files = execFileSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8" }).split("\0");
  const sources = files.filter(Boolean).reduce((total, file) => total + size(join(root, file)), 0);
  const kilobytes = (name: string, bytes: number) => row(name, "KB", [bytes / 1000]);
  return [
    kilobytes("size of the bundle", size(join(dist, "gemini-bridge.cjs"))),
    kilobytes("size of an installation: sources, bundle and cache", sources + size(dist)),
    kilobytes("size of the packages that the build needs", packages()),
  ];
}
