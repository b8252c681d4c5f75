/** Tests the doctor's report about the account of Gemini CLI, from settings, environment and screen. */
import { join } from "node:path";
import t from "tap";
import { checkAccount } from "../../src/doctor/account.ts";
import { section } from "../../src/doctor/findings.ts";
import { GEMINI } from "../../src/profiles/profiles.ts";
import { readSettings } from "../../src/profiles/settings.ts";
import { makeDirectory, writeFiles } from "../support/sandbox.ts";

const home = makeDirectory(t);

/** Returns the finding for this kind of login. */
function told(selectedType?: string, env: Record<string, string> = {}, screen?: string[]): string {
  const settings = selectedType === undefined ? {} : { security: { auth: { selectedType } } };
  writeFiles(home, { ".gemini/settings.json": JSON.stringify(settings) });
  const findings = section("");
  const files = readSettings(GEMINI, { HOME: home }, join(home, "project"));
  checkAccount(findings, { env, files, screen });
  const [item] = findings.items;
  return `${item?.level}: ${item?.text}${item?.advice ? ` -> ${item.advice}` : ""}`;
}

t.test("a login with an API key or Vertex AI works", async (t) => {
  t.match(told("gemini-api-key"), /^ok: signs in by gemini-api-key/);
  t.match(told("vertex-ai"), /^ok: signs in by vertex-ai/);
});

t.test("a login with Google works with a project only", async (t) => {
  t.match(
    told("oauth-personal"),
    /^warn: .* ended Gemini CLI for personal accounts on 2026-06-18 -> .*\/auth/,
  );
  t.match(told("oauth-personal", { GOOGLE_CLOUD_PROJECT: "mine" }), /^info: .*Standard and Enterprise/);
});

t.test("without a login the doctor names the possible ones", async (t) => {
  t.match(
    told(),
    /^info: signs in with an API key, with Vertex AI, or with Code Assist Standard or Enterprise/,
  );
});

t.test("a refusal is found on the screen, also wrapped in a frame", async (t) => {
  const screen = [
    "│ Failed to sign in. Message: This client is no longer supported for   │",
    "│ Gemini Code Assist for individuals. Use Antigravity CLI.             │",
  ];
  t.match(told("oauth-personal", {}, screen), /^error: .*refuses the account.* -> .*:Gemini cli=qwen/);
});
