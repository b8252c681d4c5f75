import { join } from "node:path";
import t from "tap";
import { registerFixtures } from "../conformance/fixtures.ts";
import { runConformance } from "../support/conformance.ts";
import { root } from "../support/nvim.ts";
import { startServer, TOKEN } from "../support/server.ts";

t.test("the official suite passes on our HTTP and session layer", async (t) => {
  const { port } = await startServer(t, { register: registerFixtures });
  const baseline = join(root, "test/conformance/expected-failures.yml");
  const args = ["--suite", "all", "--expected-failures", baseline];
  const { code, output } = await runConformance(t, { port, token: TOKEN, args });
  if (code !== 0) t.comment(output);
  t.equal(code, 0);
  t.match(output, /server-initialize/);
  t.match(output, /Total: .*passed/);
});
