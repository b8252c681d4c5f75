/** Tests the parsers for the output of system programs, with real output of each system and of this system. */
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { linux } from "../../src/system/linux.ts";
import { macos, parseConnections, parseDirectory, parseEnvironment } from "../../src/system/macos.ts";
import { platform, systemOf } from "../../src/system/platform.ts";
import * as unix from "../../src/system/unix.ts";
import { listenOn } from "../support/listen.ts";

const root = join(import.meta.dirname, "../..");

t.test("only src/system reads the name of the operating system", async (t) => {
  const ASKS = /process\.platform|\bplatform\(\)|\/proc\/|\bhas\("(?:win|mac|wsl|linux|unix)|os_uname/;
  const asking = ["src", "lua", "plugin", "rplugin"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .map((name) => join(folder, name))
      .filter((path) => /\.(?:ts|js|lua)$/.test(path) && ASKS.test(readFileSync(join(root, path), "utf8"))),
  );
  const known = asking.filter((path) => path.startsWith(join("src", "system")));
  t.same(
    asking.filter((path) => !known.includes(path)),
    [join("lua", "gemini-bridge", "terminal", "process_tree.lua")],
  );
  t.ok(known.length > 0);
});

t.test("the running system is described correctly", async (t) => {
  t.equal(platform.name, process.platform);
  t.equal(platform.temporaryDirectory(process.env), tmpdir());
  const table = await platform.processes();
  const own = table.get(process.pid);
  t.equal(own?.parent, process.ppid);
  t.match(own?.command, /node/);
  t.ok(platform.editorProcess(table, process.pid) > 0);
  const start = await platform.startOf(process.pid);
  t.ok(Math.abs(Date.now() - process.uptime() * 1000 - (start ?? 0)) < 5000, "its start");
  t.equal(await platform.startOf(2 ** 22 + 1), undefined);
  t.match((await platform.words(process.pid)).join(" "), "platform");
  const directory = await platform.directory(process.pid);
  t.equal(directory, process.cwd());

  const server = createServer();
  const port = await listenOn(t, server);
  const socket = connect(port, "127.0.0.1");
  t.teardown(() => socket.destroy());
  await Promise.all([once(server, "connection"), once(socket, "connect")]);
  const connections = await platform.connections([process.pid], [port]);
  t.same(connections, [{ own: socket.localPort, remote: port }]);
  t.same(await platform.connections([process.ppid], [port]), [], "another process has no such connection");
});

t.test("an unknown system counts as a Unix", async (t) => {
  t.equal(systemOf("freebsd"), macos);
  t.equal(systemOf("linux"), linux);
});

t.test("temporary and other directories follow the environment", async (t) => {
  const folder = "/var/folders/zz/zyxvpxvq6csfxvn_n0000000000000/T/";
  t.equal(macos.temporaryDirectory({ TMPDIR: folder }), folder.slice(0, -1), "macOS ends it with a slash");
  t.equal(linux.temporaryDirectory({}), "/tmp");
  t.equal(linux.temporaryDirectory({ TMPDIR: "/" }), "/");
  t.equal(macos.settingsDirectory("x", {}, "/Users/ada"), "/Users/ada/Library/Preferences/x");
  t.equal(linux.settingsDirectory("x", { XDG_CONFIG_HOME: "/c" }, "/home/ada"), "/c/x");
  t.notOk(macos.isPrivate(0o644));
});

t.test("the output of ps on macOS is parsed", async (t) => {
  const table = unix.parseProcesses(
    [
      "    1     0 12-03:04:05 /sbin/launchd",
      "  512     1    01:02:03 /System/Applications/Utilities/Terminal.app/Contents/MacOS/Terminal",
      "  700   512    01:02:00 login -pf ada",
      "  701   700    01:02:00 -zsh",
      "  800   701       10:00 nvim src/main.c",
      "  801   800       10:00 /opt/homebrew/bin/nvim --embed src/main.c",
      "  850   801       05:00 /bin/zsh",
      "  900   850       00:07 node /opt/homebrew/bin/gemini --model x y",
      "  901   900       00:06 (node)",
      "",
    ].join("\n"),
  );
  t.equal(table.size, 9);
  t.match(table.get(1), { parent: 0, seconds: ((12 * 24 + 3) * 60 + 4) * 60 + 5 });
  t.same(table.get(900), {
    pid: 900,
    parent: 850,
    seconds: 7,
    command: "node /opt/homebrew/bin/gemini --model x y",
  });
  t.equal(macos.editorProcess(table, 900), 800, "the terminal UI, above `nvim --embed`");
  t.equal(macos.editorAboveShell(table, 801), 800);
  t.equal(macos.editorProcess(table, 512), 512, "no shell above it");
});

t.test("the output of ps and lsof for one process on macOS is parsed", async (t) => {
  const printed =
    "node /opt/homebrew/bin/gemini HOME=/Users/ada TMPDIR=/var/folders/zz/x/T/ A=b c EMPTY= LAST=1\n";
  t.same(parseEnvironment(printed), {
    HOME: "/Users/ada",
    TMPDIR: "/var/folders/zz/x/T/",
    A: "b c",
    EMPTY: "",
    LAST: "1",
  });
  t.equal(parseEnvironment("  PID COMMAND\n"), undefined);
  t.equal(parseDirectory("p900\nfcwd\nn/Users/ada/my project\n"), "/Users/ada/my project");
  t.equal(parseDirectory(""), undefined);
  const listed = "p900\nf23\nn127.0.0.1:52001->127.0.0.1:41234\nf24\nn[::1]:52002->[::1]:41235\n";
  t.same(parseConnections(listed, [41234]), [{ own: 52001, remote: 41234 }]);
});
