/** Tests the doctor's report about containers and WSL, with their properties as data. */
import t from "tap";
import { checkMachine, type Machine } from "../../src/doctor/containers-and-wsl.ts";

const DEBIAN = "6.1.0-31-amd64";
const WSL2 = "5.15.167.4-microsoft-standard-WSL2";

function told(machine: Partial<Machine>): string[] {
  const found = checkMachine({ mark: undefined, release: DEBIAN, env: {}, program: undefined, ...machine });
  return (found?.items ?? []).map(
    ({ level, text, advice }) => `${level}: ${text}${advice ? ` -> ${advice}` : ""}`,
  );
}

t.test("an ordinary machine is not mentioned", async (t) => {
  t.same(told({}), []);
  t.same(told({ release: "24.3.0", env: { SSH_CONNECTION: "a 1 b 2" } }), [], "macOS, over SSH");
  t.same(told({ program: "/mnt/c/gemini" }), []);
});

t.test("a container is explained", async (t) => {
  const [what, ...directions] = told({ mark: "/.dockerenv" });
  t.equal(what, "info: A container: /.dockerenv is there");
  t.match(directions, [
    /^info: works: Neovim and the CLI in the container; start the CLI with :Gemini/,
    /^info: works with some setup: the CLI in the container, Neovim outside; .*:help gemini-bridge-containers/,
    /^info: does not work: Neovim in the container, the CLI outside/,
  ]);
  const env = { REMOTE_CONTAINERS: "true", WSL_DISTRO_NAME: "Ubuntu" };
  const dev = told({ mark: "/run/.containerenv", env, release: WSL2 });
  t.equal(dev[0], "info: A container: /run/.containerenv is there, and REMOTE_CONTAINERS is set");
  t.notMatch(dev.join(), "WSL", "a container in WSL is a container");
});

t.test("WSL is explained", async (t) => {
  for (const [machine, name] of [
    [{ release: WSL2, env: { WSL_DISTRO_NAME: "Debian" } }, "info: WSL, Debian"],
    [{ release: WSL2 }, "info: WSL"],
    [{ release: "4.4.0-19041-Microsoft" }, "info: WSL"],
    [{ release: "6.6.0-own", env: { WSL_DISTRO_NAME: "Ubuntu-24.04" } }, "info: WSL, Ubuntu-24.04"],
  ] as const) {
    const lines = told(machine);
    t.equal(lines[0], name);
    t.match(lines[1], /works: Neovim and the CLI in WSL, as on every Linux/);
    t.match(
      lines[2],
      /works with some setup: Neovim in WSL, the CLI in a container; .*:help gemini-bridge-containers/,
    );
    t.match(lines[3], /does not work: one of them on Windows/);
    t.equal(lines.length, 4);
  }
  const shim = "/mnt/c/Users/Ada/AppData/Roaming/npm/gemini";
  t.equal(
    told({ release: WSL2, program: shim }).at(-1),
    `warn: ${shim} is a Windows program -> npm install -g @google/gemini-cli, in WSL`,
  );
  t.equal(told({ release: WSL2, program: "/usr/local/bin/gemini" }).length, 4);
});
