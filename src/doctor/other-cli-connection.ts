/** Checks whether a CLI other than Gemini CLI finds the editor, by the discovery rules of its profile. */
import { statSync } from "node:fs";
import { basename, delimiter, dirname } from "node:path";
import * as z from "zod";
import { attempt } from "../base/attempt.ts";
import { isWithin, list, realExisting } from "../profiles/announced-editors.ts";
import { directoryOf, readFileName } from "../profiles/discovery-paths.ts";
import type { Profile } from "../profiles/profiles.ts";
import { readSmallFile } from "../system/small-file.ts";
import type { Bridge } from "./contract.ts";
import type { Findings } from "./findings.ts";
import type { Searcher } from "./gemini-connection.ts";

const Roots = z.array(z.string());
const Announced = z.union([
  z.object({ workspacePath: z.string() }),
  z.object({ workspaceFolders: Roots, transport: z.literal("ws") }),
]);

type OtherCli = Searcher & { readonly profile: Profile };

export function checkOtherConnection(findings: Findings, subject: OtherCli): void {
  const { profile, env, cwd, bridge } = subject;
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
  else {
    findings.ok(`The CLI finds this Neovim by ${path}`);
    checkProcess(findings, subject, bridge, readFileName(profile, basename(path))?.pid);
    if (isWithin(rootsIn(path), cwd)) findings.ok(`The directory of the CLI, ${cwd}, is in the workspace`);
    else
      findings.error(
        `The CLI runs in ${cwd}, which is outside of the workspace`,
        `start the CLI in the workspace, or run :cd ${cwd} in Neovim`,
      );
  }
}

/** Reads the workspace roots in a discovery file. src/discovery/content.ts describes their formats. */
function rootsIn(path: string): string[] {
  try {
    const announced = Announced.parse(JSON.parse(readSmallFile(path)?.text ?? ""));
    if ("workspaceFolders" in announced) return announced.workspaceFolders;
    const { workspacePath } = announced;
    return workspacePath.startsWith("[")
      ? Roots.parse(JSON.parse(workspacePath))
      : workspacePath.split(delimiter);
  } catch {
    return []; // not a discovery file of this plugin
  }
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

/**
 * Checks which process the CLI takes for its editor.
 * @param announced the process id in the name of the discovery file
 */
function checkProcess(
  findings: Findings,
  { profile, env, idePid }: OtherCli,
  { port }: Bridge,
  announced: number | undefined,
): void {
  const { byProcess, name } = profile;
  if (!byProcess || idePid === undefined) return;
  const needs = Object.entries(byProcess);
  const variables = needs.map(([key, value]) => `${key}=${value}`).join(" ");
  const hasVariables =
    env[`${profile.env}SERVER_PORT`] === String(port) && needs.every(([key, value]) => env[key] === value);
  if (idePid === announced) findings.ok(`The CLI takes this Neovim, process ${idePid}, for its editor`);
  else if (hasVariables) findings.ok(`The CLI takes the port ${port} from its environment`);
  else
    findings.error(
      `The CLI takes process ${idePid} for its editor, but the discovery file of this Neovim names process ${announced}`,
      `start the CLI with :Gemini cli=${name}, or from a shell in :terminal. In any other shell, run the lines of :GeminiEnv and \`export ${variables}\`, then start the CLI`,
    );
}
