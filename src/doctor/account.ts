/** Checks how Gemini CLI signs in. Google no longer serves Gemini CLI to personal accounts. */
import * as z from "zod";
import { setting } from "../profiles/settings.ts";
import type { Variables } from "../system/system.ts";
import type { ModeSources } from "./approval-mode.ts";
import type { Findings } from "./findings.ts";

/**
 * Part of Gemini CLI's message after Google has refused the login, with blanks and borders removed.
 * lua/gemini-bridge/terminal/refused_login.lua has the same text.
 */
const REFUSAL = "nolongersupportedforGeminiCodeAssistforindividuals";

/**
 * Value of `security.auth.selectedType` for a login with Google. Personal accounts have the same value as Code Assist
 * Standard and Enterprise.
 */
const GOOGLE_LOGIN = "oauth-personal";

const ENDED = "Google ended Gemini CLI for personal accounts on 2026-06-18";
const ADVICE =
  "choose an API key or Vertex AI with /auth in the CLI, or run :Gemini cli=qwen; Code Assist Standard and Enterprise still work";

interface Login extends Pick<ModeSources, "files" | "screen"> {
  readonly env: Variables;
}

export function checkAccount(findings: Findings, { env, files, screen = [] }: Login): void {
  const selected = setting(files, "security.auth.selectedType", z.string());
  if (
    screen
      .join("")
      .replace(/[\s│|]/g, "")
      .includes(REFUSAL)
  )
    findings.error(`The CLI shows that Google refuses the account: ${ENDED}`, ADVICE);
  else if (selected === undefined)
    findings.info(
      `The settings do not say how the CLI signs in. The CLI works with an API key, with Vertex AI, and with Code Assist Standard and Enterprise. ${ENDED}`,
    );
  else if (selected.value !== GOOGLE_LOGIN)
    findings.ok(`The CLI signs in by ${selected.value} (${selected.path})`);
  else if (env["GOOGLE_CLOUD_PROJECT"] || env["GOOGLE_CLOUD_PROJECT_ID"])
    findings.info(
      "The CLI signs in with Google, and a Google Cloud project is set. This login works only with Code Assist Standard or Enterprise",
    );
  else findings.warn(`The CLI signs in with Google (${selected.path}). ${ENDED}`, ADVICE);
}
