/** Checks whether a CLI other than Gemini CLI finds the editor, by the discovery rules of its profile. */
import { statSync } from "node:fs";
import { basename, delimiter, dirname } from "node:path";
import { attempt } from "../base/attempt.ts";
import { list, realExisting } from "../profiles/announced-editors.ts";
import { directoryOf, readFileName } from "../profiles/discovery-paths.ts";
import type { Profile } from "../profiles/profiles.ts";
import type { Bridge } from "./contract.ts";
import type { Findings } from "./findings.ts";
import { checkWorkspace, type Searcher } from "./gemini-connection.ts";

export function checkOtherConnection(
  findings: Findings,
  { profile, env, cwd, bridge }: Searcher & { readonly profile: Profile },
): void {
  const looks = directoryOf(profile, env);
  if (!bridge) {
    if (list(looks).some((name) => readFileName(profile, name)))
      findings.ok(`The CLI finds editors in ${looks}`);
    else
      findings.error(
        `The CLI finds no editor in ${looks}`,
        "run :GeminiStart in Neovim, then restart the CLI",
      );
    return;
  }
  if (bridge.state !== "running") return;
  const path = announcedFile(profile, bridge);
  if (path === undefined)
    findings.error(
      `This Neovim has no discovery file in ${looks}: the bridge started before ${profile.label} was installed, or the file could not be written`,
      ":GeminiRestart; if that does not help, see :GeminiLog",
    );
  else if (!isFile(path)) findings.error(`${path} is missing`, ":GeminiStart");
  else if (realExisting(dirname(path)) !== realExisting(looks))
    findings.error(
      `The CLI looks for editors in ${looks}, but the discovery file of this Neovim is ${path}`,
      "start the CLI with :Gemini",
    );
  else findings.ok(`The CLI finds this Neovim by ${path}`);
  checkWorkspace(findings, cwd, bridge.workspace.join(delimiter));
}

/**
 * Finds the discovery file of a profile. Compares the directories as well, because two profiles may use the same file
 * name.
 */
export function announcedFile(profile: Profile, { discoveryFiles, port }: Bridge): string | undefined {
  const place = realExisting(directoryOf(profile, process.env));
  return discoveryFiles.find(
    (path) => readFileName(profile, basename(path))?.port === port && realExisting(dirname(path)) === place,
  );
}

/** Whether a file exists. A file in a directory that cannot be read counts as missing, because CLIs cannot find it. */
export function isFile(path: string): boolean {
  return attempt(() => statSync(path).isFile()) ?? false;
}
