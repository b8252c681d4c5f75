/** Tests which files and folders a running bridge watches: its discovery file, and shared files. */
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { startBridge } from "../support/bridge.ts";
import { waitFor } from "../support/wait.ts";

t.test("a removed discovery file is restored, with :GeminiStart immediately", async (t) => {
  const { bridge, nvim } = await startBridge(t);
  const { path, content } = bridge.file();
  const host = await bridge.host();
  rmSync(path);
  await waitFor(() => existsSync(path), "the file to be back");
  t.same(bridge.file().content, content);

  // No event fires, because only the parent directory has changed.
  renameSync(join(nvim.dirs.tmp, "gemini"), join(nvim.dirs.tmp, "elsewhere"));
  await nvim.command("GeminiStart");
  await waitFor(() => existsSync(path), "the file to be back");
  t.same(bridge.file().content, content);
  t.equal(await bridge.host(), host, "nothing was started anew");
  await bridge.client();

  await nvim.stopBridge();
  t.same(bridge.files(), []);
});

t.test("a discovery directory that has become unsafe is refused with advice", async (t) => {
  const { nvim } = await startBridge(t);
  rmSync(join(nvim.dirs.tmp, "gemini"), { recursive: true });
  symlinkSync(nvim.dirs.home, join(nvim.dirs.tmp, "gemini"));
  await nvim.command("GeminiStart");
  await nvim.says(/gemini is a symbolic link; remove it/);
  await nvim.bridgeIs("running");
  t.notOk(existsSync(join(nvim.dirs.home, "ide")), "no token was written there");
  t.match(readFileSync(join(nvim.dirs.state, "nvim", "gemini-bridge.log"), "utf8"), /is a symbolic link/);
});

/** Returns the number of folders that a process watches. Linux only. */
function watches(pid: number): number {
  const files = readdirSync(`/proc/${pid}/fdinfo`).map((name) => {
    try {
      return readFileSync(`/proc/${pid}/fdinfo/${name}`, "utf8");
    } catch {
      return ""; // the process has closed this file
    }
  });
  return files.join("").match(/^inotify /gm)?.length ?? 0;
}

// Other systems do not list the watches of a process.
if (process.platform === "linux") {
  t.test("a snapshot that arrives after the last client left starts no file watches", async (t) => {
    const { bridge, nvim } = await startBridge(t, {
      files: { "a.txt": "", "other/b.txt": "" },
      args: ["a.txt"],
      init: "require('gemini-bridge.host.boot').limits.reconnect_ms = 100", // settings are watched that long
    });
    const host = await bridge.host();
    const before = watches(host); // the watch for the discovery file
    const client = await bridge.client();
    await client.waitForNotification("ide/contextUpdate");
    t.ok(watches(host) > before, "with a client files are watched");
    await client.close();
    await nvim.waitFor(() => watches(host) === before, "the watch to end");
    // Sends a late snapshot, and then an event whose effect shows that the snapshot has arrived.
    await nvim.lua(
      `local channel = require('gemini-bridge.bridge.channel')
      channel.notify('context', {
        reset = true, more = false, sharing = { paused = false, exclude = {} },
        buffers = { { bufnr = 1, path = ... } }, focus = { { bufnr = 1, time = 1 } },
      })`,
      nvim.path("a.txt"),
    );
    await nvim.command("cd other");
    await nvim.waitFor(
      () => bridge.file().content.workspacePath.endsWith("/other"),
      "the next event to be seen",
    );
    // The new discovery file exists shortly before the host watches its folder again.
    await nvim.waitFor(() => watches(host) === before, "no other watch than before");
  });
}
