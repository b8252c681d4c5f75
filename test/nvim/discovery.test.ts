/** Tests that the discovery file of a running Neovim is restored. */
import { existsSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { startBridge } from "../support/bridge.ts";
import { waitFor } from "../support/wait.ts";

t.test("a removed discovery file is restored, at once with :GeminiStart", async (t) => {
  const bridge = await startBridge(t);
  const { nvim } = bridge;
  const { path, content } = bridge.file();
  const host = await bridge.host();
  rmSync(path);
  await waitFor(() => existsSync(path), "the file to be back");
  t.same(bridge.file().content, content);

  // Fires no event, because only the parent directory has changed.
  renameSync(join(nvim.dirs.tmp, "gemini"), join(nvim.dirs.tmp, "elsewhere"));
  await nvim.command("GeminiStart");
  await waitFor(() => existsSync(path), "the file to be back");
  t.same(bridge.file().content, content);
  t.equal(await bridge.host(), host, "nothing was started anew");
  await bridge.client();

  await nvim.command("GeminiStop");
  await bridge.is("stopped");
  t.same(bridge.files(), []);
});

t.test("a directory that has become unsafe is refused with advice", async (t) => {
  const bridge = await startBridge(t);
  const { nvim } = bridge;
  rmSync(join(nvim.dirs.tmp, "gemini"), { recursive: true });
  symlinkSync(nvim.dirs.home, join(nvim.dirs.tmp, "gemini"));
  await nvim.command("GeminiStart");
  await nvim.waitFor(
    async () => /gemini is a symbolic link; remove it/.test(await nvim.messages()),
    "the message",
  );
  await bridge.is("running");
  t.notOk(existsSync(join(nvim.dirs.home, "ide")), "no token was written there");
  t.match(readFileSync(join(nvim.dirs.state, "nvim", "gemini-bridge.log"), "utf8"), /is a symbolic link/);
});
