import { readFileSync } from "node:fs";
import t from "tap";
import { startBridge } from "../support/bridge.ts";
import { startCliInNvim } from "../support/cli.ts";
import { startModel, writesFile } from "../support/model.ts";
import { waitFor } from "../support/wait.ts";

t.test("the real CLI gets a decision that the user made while no host ran", async (t) => {
  const { bridge, nvim } = await startBridge(t, { files: { "greet.js": "Hello\n" }, args: ["greet.js"] });
  const path = nvim.path("greet.js");
  const model = await startModel(t);
  const cli = await startCliInNvim(t, nvim, { model });
  await nvim.waitFor(
    async () => /Connected to Neovim/.test(await cli.slash("/ide status")),
    "the CLI to connect",
  );
  model.say(...writesFile(path, "Good day\n", "The greeting is new."));
  await cli.type("Please greet more formally.");
  await cli.waitForScreen(/Apply this change\?/);
  // The review is shown before the CLI gets its answer, and the CLI reads its event stream only after the answer. This
  // condition is true when the answer was sent.
  const answered = "((require('gemini-bridge.bridge.memory').get() or {}).diffs[1] or {}).baseline ~= nil";
  await nvim.waitFor(answered, "the review");
  for (let request = 0; request < 3; request += 1) {
    const { status } = await fetch(`http://127.0.0.1:${bridge.file().port}/mcp`, { method: "POST" });
    t.equal(status, 401);
  }

  await bridge.nextHost(await bridge.crash("GeminiAccept"));
  await waitFor(() => readFileSync(path, "utf8") === "Good day\n", "the CLI to write the file");
  await cli.waitForScreen(/The greeting is new\./);
  await nvim.waitFor("#require('gemini-bridge.review.records').decided() == 0", "the decision to be settled");
});
