import t from "tap";
import { readDiscovery } from "../support/client.ts";
import { runConformance } from "../support/conformance.ts";
import { startNvim } from "../support/nvim.ts";

t.test("the official suite passes on the bridge itself, in all that it offers", async (t) => {
  const nvim = await startNvim(t);
  await nvim.command("GeminiStart");
  await nvim.waitFor("require('gemini-bridge').status().state == 'running'", "the bridge");
  const [file] = readDiscovery(nvim.dirs.tmp);
  if (!file) throw new Error("no discovery file");
  const server = { port: file.port, token: file.content.authToken };
  for (const scenario of ["server-initialize", "ping", "tools-list", "server-sse-multiple-streams"]) {
    const { code, output } = await runConformance(t, { ...server, args: ["--scenario", scenario] });
    if (code !== 0) t.comment(output);
    t.equal(code, 0, scenario);
  }
});
