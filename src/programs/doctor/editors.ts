/** The editors that announce themselves on this machine. */
import type { AnnouncedEditor } from "../../cli/find-editor.ts";
import { answerOf, isBridge } from "./answer.ts";
import type { Section } from "./contract.ts";
import { type Findings, section } from "./section.ts";

/** The name and the place of an editor, for a user. */
export function describeEditor({ content, pid, port }: AnnouncedEditor): string {
  return `${content?.ideInfo?.displayName ?? "an editor"}, process ${pid}, port ${port}`;
}

/** What lies in the directory, where no Neovim tells which editor is its own. */
export async function checkEditors(editors: readonly AnnouncedEditor[], directory: string): Promise<Section> {
  const findings = section("Editors");
  if (editors.length === 0)
    findings.warn(
      `No editor announces itself in ${directory}`,
      ":GeminiStart in Neovim, with the same TMPDIR",
    );
  for (const editor of editors.filter((each) => each.isAlive)) {
    const answer = await answerOf(editor.port);
    if (isBridge(answer)) findings.ok(`${describeEditor(editor)}: it answers`);
    else
      findings.error(`${describeEditor(editor)}: it answers ${answer ?? "nothing"}`, ":GeminiRestart there");
  }
  checkLeftovers(findings, editors);
  return findings;
}

/** What lies in the directory beside an editor's own file. */
export function checkOthers(findings: Findings, others: readonly AnnouncedEditor[]): void {
  for (const { pid, port } of others.filter((each) => each.isAlive))
    findings.info(`Another editor is announced: process ${pid}, port ${port}`);
  checkLeftovers(findings, others);
}

function checkLeftovers(findings: Findings, editors: readonly AnnouncedEditor[]): void {
  for (const { path, pid } of editors.filter((each) => !each.isAlive))
    findings.warn(`${path} is a leftover: process ${pid} is gone`, `rm ${path}`);
}
