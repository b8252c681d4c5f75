/** Checks the release of Gemini CLI. */
import { judge, NEWEST } from "../profiles/release.ts";
import type { Findings } from "./findings.ts";

export function checkRelease(findings: Findings, version: string | undefined): void {
  if (version === undefined) {
    findings.warn("its release is unknown", "see `gemini --version`");
    return;
  }
  const name = `Gemini CLI ${version}`;
  const verdict = judge(version);
  if (verdict === "older")
    findings.error(
      `${name} is too old for editors other than VS Code`,
      "npm install -g @google/gemini-cli@latest",
    );
  else if (verdict === "newer") findings.info(`${name}; the newest that was tested is ${NEWEST}`);
  else findings.ok(name);
}
