import t from "tap";
import { startBridge } from "../support/bridge.ts";
import { runConformance } from "../support/conformance.ts";

const ANY = ["server-initialize", "ping", "tools-list", "server-sse-multiple-streams"];
/**
 * Scenarios that apply to the bridge. The other scenarios need fixtures of the suite, see
 * test/http/conformance.test.ts.
 */
const OFFERED = {
  "/mcp": ANY,
  "/neovim": [...ANY, "resources-list", "resources-subscribe", "resources-unsubscribe", "prompts-list"],
};

t.test("the official MCP suite passes on the bridge in all scenarios that apply", async (t) => {
  const { bridge } = await startBridge(t, { files: { "a.md": "# A\n" }, args: ["a.md"] });
  const { port, content } = bridge.file();
  for (const [path, scenarios] of Object.entries(OFFERED)) {
    const server = { port, token: content.authToken, path };
    const { output } = await runConformance(t, { ...server, args: ["--suite", "all"] });
    for (const scenario of scenarios)
      if (
        !t.match(
          output,
          new RegExp(`^✓ ${scenario}: [1-9]\\d* passed, 0 failed$`, "m"),
          `${scenario} on ${path}`,
        )
      )
        t.comment(output);
  }
});
