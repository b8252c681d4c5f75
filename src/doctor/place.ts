/** Whether a CLI other than Gemini CLI finds an editor, by what its profile says of discovery. */
import { statSync } from "node:fs";
import { basename, delimiter, dirname } from "node:path";
import * as z from "zod";
import { isWithin, list, realExisting } from "../profiles/announced-editors.ts";
import { directoryOf, readFileName } from "../profiles/paths.ts";
import type { Profile } from "../profiles/profiles.ts";
import { readSmallFile } from "../system/small-file.ts";
import type { Searcher } from "./connection.ts";
import type { Bridge } from "./contract.ts";
import type { Findings } from "./section.ts";

const Announced = z.object({ workspacePath: z.string() });
const Roots = z.array(z.string());

type Descendant = Searcher & { readonly profile: Profile };

/** @param bridge that of the Neovim that asks; without one any editor will do */
export function checkPlace(findings: Findings, subject: Descendant, bridge: Bridge | undefined): void {
  const { profile, env, cwd } = subject;
  const looks = directoryOf(profile, env);
  if (!bridge) {
    if (list(looks).some((name) => readFileName(profile, name))) findings.ok(`finds editors in ${looks}`);
    else findings.error(`finds no editor in ${looks}`, ":GeminiStart in Neovim, then start it again");
    return;
  }
  if (bridge.state !== "running") return;
  const path = announcedFile(profile, bridge);
  if (path === undefined)
    findings.error(
      `This bridge is not announced in ${looks}: it began before ${profile.label} was there, or could not be`,
      ":GeminiRestart; why it cannot be is in :GeminiLog",
    );
  else if (!isFile(path)) findings.error(`${path} is gone`, ":GeminiStart");
  else if (realExisting(dirname(path)) !== realExisting(looks))
    findings.error(
      `looks for editors in ${looks}, but this bridge is announced by ${path}`,
      "start it by :Gemini",
    );
  else {
    findings.ok(`finds this Neovim by ${path}`);
    checkProcess(findings, subject, bridge, readFileName(profile, basename(path))?.pid);
    if (isWithin(rootsIn(path), cwd)) findings.ok(`${cwd} is in the workspace`);
    else findings.error(`runs in ${cwd}, which is outside the workspace`, `start it in there, or :cd ${cwd}`);
  }
}

/** The directories that a discovery file lists, joined or as JSON: see src/contract/companion.ts. */
function rootsIn(path: string): string[] {
  try {
    const { workspacePath } = Announced.parse(JSON.parse(readSmallFile(path)?.text ?? ""));
    return workspacePath.startsWith("[")
      ? Roots.parse(JSON.parse(workspacePath))
      : workspacePath.split(delimiter);
  } catch {
    return []; // none of ours
  }
}

/** The discovery file of a profile's. Several profiles may have the same names for theirs. */
export function announcedFile(profile: Profile, { discoveryFiles, port }: Bridge): string | undefined {
  const place = realExisting(directoryOf(profile, process.env));
  return discoveryFiles.find(
    (path) => readFileName(profile, basename(path))?.port === port && realExisting(dirname(path)) === place,
  );
}

export function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

/** @param announced the process in the file's name */
function checkProcess(
  findings: Findings,
  { profile, env, idePid }: Descendant,
  { port }: Bridge,
  announced: number | undefined,
): void {
  const { byProcess, name } = profile;
  if (!byProcess || idePid === undefined) return;
  const needs = Object.entries(byProcess);
  const isLed =
    env[`${profile.env}SERVER_PORT`] === String(port) && needs.every(([key, value]) => env[key] === value);
  if (idePid === announced) findings.ok(`takes process ${idePid} for its editor, which is this one`);
  else if (isLed) findings.ok(`takes the port ${port} from its environment`);
  else
    findings.error(
      `takes process ${idePid} for its editor, this one is ${announced}`,
      `start it by :Gemini cli=${name}, or in a shell in :terminal; elsewhere with the lines of :GeminiEnv and ` +
        needs.map(([key, value]) => `${key}=${value}`).join(" "),
    );
}
