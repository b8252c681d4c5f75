/** Finds out whether Google has refused the account: it no longer serves Gemini CLI to personal accounts. */
import type { Findings } from "./findings.ts";

/**
 * Part of Gemini CLI's message after Google has refused the login, with blanks and borders removed.
 * lua/gemini-bridge/terminal/refused_login.lua has the same text.
 */
const REFUSAL = "nolongersupportedforGeminiCodeAssistforindividuals";

/** @param screen last lines of the CLI's terminal */
export function checkAccount(findings: Findings, screen: readonly string[]): void {
  const text = screen.join("").replace(/[\s│|]/g, "");
  if (text.includes(REFUSAL))
    findings.error(
      "Google refuses the account: Google ended Gemini CLI for personal accounts on 2026-06-18",
      "choose an API key or Vertex AI with /auth in the CLI, or run :Gemini cli=qwen; Code Assist Standard and Enterprise still work",
    );
}
