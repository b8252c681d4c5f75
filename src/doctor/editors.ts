/** Checks the editors whose discovery files are on this machine. */
import type { AnnouncedEditor } from "../profiles/announced-editors.ts";
import { isLeftover } from "../profiles/leftover-files.ts";
import type { Section } from "./contract.ts";
import { type Findings, section } from "./findings.ts";
import { answerOf, isBridge } from "./port-check.ts";

/** Describes an editor to the user. */
export function describeEditor({ content, pid, port }: AnnouncedEditor): string {
  return `${content?.ideInfo?.displayName ?? "an editor"}, process ${pid}, port ${port}`;
}

/** Checks all editors with discovery files, for a doctor that runs in a shell. */
export async function checkEditors(editors: readonly AnnouncedEditor[], directory: string): Promise<Section> {
  const findings = section("Editors");
  if (editors.length === 0)
    findings.warn(
      `No editor has a discovery file in ${directory}`,
      "run :GeminiStart in a Neovim with the same TMPDIR as this shell",
    );
  const living = await withoutLeftovers(findings, editors);
  for (const editor of living) {
    const answer = await answerOf(editor.port);
    const who = describeEditor(editor);
    if (isBridge(answer)) findings.ok(`${who}: the editor answers`);
    else if (editor.isAlive)
      findings.error(
        `${who}: unexpected answer on this port: ${answer ?? "none"}`,
        "run :GeminiRestart in that editor",
      );
    else
      findings.info(
        `${who}: this process is not visible from here, perhaps because it runs in another container`,
      );
  }
  return findings;
}

/** Lists the editors with discovery files, except this Neovim. */
export async function checkOthers(findings: Findings, others: readonly AnnouncedEditor[]): Promise<void> {
  for (const { pid, port } of await withoutLeftovers(findings, others))
    findings.info(`Another editor has a discovery file: process ${pid}, port ${port}`);
}

/** Reports the discovery files of dead editors. @returns the editors that are running */
async function withoutLeftovers(
  findings: Findings,
  editors: readonly AnnouncedEditor[],
): Promise<AnnouncedEditor[]> {
  const left = await Promise.all(editors.map(({ pid, port, date }) => isLeftover(pid, port, date)));
  for (const { path, pid, isAlive } of editors.filter((_, index) => left[index]))
    findings.warn(
      `${path} is a leftover: process ${pid} ${isAlive ? "belongs to another program now" : "has ended"}`,
      `rm ${path}`,
    );
  return editors.filter((_, index) => !left[index]);
}
