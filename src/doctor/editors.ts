/** Checks the editors whose discovery files are on this machine, for a doctor that runs in a shell. */
import type { AnnouncedEditor } from "../profiles/announced-editors.ts";
import type { Section } from "./contract.ts";
import { section } from "./findings.ts";
import { answerOf, BRIDGE_STATUS } from "./port-check.ts";

/** Describes an editor to the user. */
export function describeEditor({ content, pid, port }: AnnouncedEditor): string {
  return `${content?.ideInfo?.displayName ?? "an editor"}, process ${pid}, port ${port}`;
}

export async function checkEditors(editors: readonly AnnouncedEditor[], directory: string): Promise<Section> {
  const findings = section("Editors");
  if (editors.length === 0)
    findings.warn(
      `No editor has a discovery file in ${directory}`,
      "run :GeminiStart in a Neovim with the same TMPDIR as this shell",
    );
  for (const editor of editors) {
    const who = describeEditor(editor);
    if ((await answerOf(editor.port)) === BRIDGE_STATUS) findings.ok(`${who}: the editor answers`);
    else
      findings.warn(
        `${who}: no bridge answers on this port`,
        `run :GeminiRestart in that editor; if it has ended, remove ${editor.path}`,
      );
  }
  return findings;
}
