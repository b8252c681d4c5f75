/** Tests that scripts/nvim.sh downloads a release of Neovim. The tests download from a local folder. */
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { nvimBinary, root } from "../support/nvim.ts";
import { makeDirectory } from "../support/sandbox.ts";

const OS: Record<string, string> = { linux: "linux", darwin: "macos" };
const ARCH: Record<string, string> = { x64: "x86_64", arm64: "arm64" };
const NAME = `nvim-${OS[process.platform]}-${ARCH[process.arch]}`;

/** Creates a folder with releases, and a copy of the script. The copy stores Neovims beside itself. */
function copyScript(t: Test) {
  const base = makeDirectory(t);
  cpSync(join(root, "scripts/nvim.sh"), join(base, "scripts/nvim.sh"));
  const releases = join(base, "releases");
  return {
    base,
    /** Publishes an archive that contains the Neovim of this test. */
    publish(version: string, program = `exec '${nvimBinary()}' "$@"`) {
      const bin = join(base, NAME, "bin");
      mkdirSync(bin, { recursive: true });
      mkdirSync(join(releases, version), { recursive: true });
      writeFileSync(join(bin, "nvim"), `#!/bin/sh\n${program}\n`, { mode: 0o755 });
      execFileSync("tar", ["-czf", join(releases, version, `${NAME}.tar.gz`), "-C", base, NAME]);
    },
    run(version: string) {
      const env = {
        PATH: process.env["PATH"],
        CI: "true",
        NVIM_VERSION: version,
        NVIM_RELEASES: `file://${releases}`,
      };
      const { status, stdout, stderr } = spawnSync(join(base, "scripts/nvim.sh"), { env, encoding: "utf8" });
      return { status, path: stdout.trim(), stderr };
    },
  };
}

t.test("scripts/nvim.sh fetches a release of Neovim by its version", async (t) => {
  const { base, publish, run } = copyScript(t);
  publish("v0.11.5");
  const path = join(base, ".nvim/v0.11.5/bin/nvim");
  t.same(run("v0.11.5"), { status: 0, path, stderr: "" });
  t.match(execFileSync(path, ["--version"], { encoding: "utf8" }), /^NVIM v/);
  t.same(run("v0.11.5"), { status: 0, path, stderr: "" }, "it is there by now");
  t.same(readdirSync(join(base, ".nvim")), ["v0.11.5"], "and nothing else");
});

t.test("scripts/nvim.sh fails if a release of Neovim is missing or unusable", async (t) => {
  const { base, publish, run } = copyScript(t);
  const missing = run("v9.9.9");
  t.equal(missing.status, 1);
  t.match(missing.stderr, /nvim\.sh: Neovim v9\.9\.9 cannot be fetched/);
  t.same(readdirSync(join(base, ".nvim")), []);
  publish("v0.9.5", "echo 'NVIM v0.9.5'");
  const old = run("v0.9.5");
  t.equal(old.status, 1);
  t.match(old.stderr, /is not a working Neovim >= 0\.10/);
});
