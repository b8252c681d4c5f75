/** Policies and settings of any content: we say of the tools that write files what the CLI's own code says. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPolicyEngineConfig } from "@google/gemini-cli-core/dist/src/policy/config.js";
import { PolicyEngine } from "@google/gemini-cli-core/dist/src/policy/policy-engine.js";
import { ApprovalMode } from "@google/gemini-cli-core/dist/src/policy/types.js";
import fc from "fast-check";
import { stringify } from "smol-toml";
import t from "tap";
import { EDIT_TOOLS, verdictOn } from "../../src/doctor/approval.ts";
import { readFlags } from "../../src/doctor/flags.ts";
import { readRules } from "../../src/doctor/rules.ts";
import { readSettings } from "../../src/profiles/settings.ts";
import { fuzz } from "../support/fuzz.ts";
import { writeFiles } from "../support/sandbox.ts";

const home = mkdtempSync(join(tmpdir(), "gb-"));
t.teardown(() => rmSync(home, { recursive: true }));
process.env["GEMINI_CLI_HOME"] = home;
const env = { GEMINI_CLI_HOME: home };

const MODES = {
  default: ApprovalMode.DEFAULT,
  auto_edit: ApprovalMode.AUTO_EDIT,
  yolo: ApprovalMode.YOLO,
  plan: ApprovalMode.PLAN,
};

const tool = fc.constantFrom("write_file", "replace", "*", "read_file", "write_file(x)");
const tools = fc.option(fc.array(tool, { maxLength: 2 }), { nil: undefined });
const rule = fc.record(
  {
    toolName: fc.oneof(tool, fc.array(tool, { minLength: 1, maxLength: 3 })),
    decision: fc.constantFrom("allow", "deny", "ask_user"),
    priority: fc.constantFrom(0, 10, 240, 300, 305, 400, 950, 999),
    modes: fc.array(fc.constantFrom("default", "autoEdit", "yolo", "plan"), { maxLength: 2 }),
    interactive: fc.boolean(),
    argsPattern: fc.constant("no such text in any call"),
    mcpName: fc.constantFrom("server", "*"),
    subagent: fc.constant("helper"),
    toolAnnotations: fc.constant({ readOnlyHint: true }),
    denyMessage: fc.string(),
  },
  { requiredKeys: ["toolName", "decision", "priority"] },
);

t.test("what is decided about a change", async (t) => {
  const property = fc.asyncProperty(
    fc.array(rule, { maxLength: 5 }),
    fc.array(rule, { maxLength: 2 }),
    fc.record({ allowed: tools, exclude: tools, core: tools, confirmationRequired: tools }),
    fc.boolean(),
    fc.constantFrom(...(["default", "auto_edit", "yolo", "plan"] as const)),
    async (rules, ofAdmin, settings, disableAlwaysAllow, mode) => {
      const user = join(home, ".gemini/policies");
      const admin = join(home, "admin.toml");
      writeFiles(home, {
        ".gemini/settings.json": JSON.stringify({
          tools: settings,
          security: { disableAlwaysAllow },
          adminPolicyPaths: ["~/admin.toml"],
        }),
        ".gemini/policies/rules.toml": stringify({ rule: rules }),
        ".gemini/policies/broken.toml": "[[rule]]\ntoolName = '*'\ndecision = 'allow'\npriority = 1000\n",
        ".gemini/policies/rules.txt": "[[rule]]\ntoolName = '*'\ndecision = 'allow'\npriority = 999\n",
        "admin.toml": stringify({ rule: ofAdmin }),
      });
      const config = await createPolicyEngineConfig(
        {
          tools: Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined)),
          disableAlwaysAllow,
          adminPolicyPaths: [admin],
        },
        MODES[mode],
      );
      const engine = new PolicyEngine(config);
      const found = readRules(env, readFlags([]), readSettings(env, "/"));
      if (found.broken.join() !== join(user, "broken.toml")) throw new Error(found.broken.join());
      for (const name of EDIT_TOOLS) {
        const theirs = await engine.check({ name, args: { file_path: "/a.txt", content: "x" } }, undefined);
        const ours = verdictOn(name, mode, found.rules);
        if (ours.decision !== theirs.decision)
          throw new Error(`${name}: ${JSON.stringify(ours)} is not ${JSON.stringify(theirs)}`);
      }
    },
  );
  await fc.assert(property, fuzz(t, "policies", 150));
});
