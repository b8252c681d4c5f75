/** Tests that the discovery file is restored while the bridge runs. */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import t, { type Test } from "tap";
import { createDiscovery } from "../../src/discovery/keep-file.ts";
import { GEMINI } from "../../src/profiles/profiles.ts";
import { announcement, temporary } from "../support/temporary.ts";
import { waitFor } from "../support/wait.ts";

const SECRET = "the-secret-token";

function start(t: Test, interval?: number) {
  const base = temporary(t);
  const reports: string[] = [];
  const discovery = createDiscovery({
    profile: GEMINI,
    announcement: announcement(11, 22, SECRET),
    report: (...words) => reports.push(words.join(" ")),
    ...(interval === undefined ? {} : { interval }),
  });
  t.teardown(() => discovery.remove());
  discovery.publish(["/a"]);
  const { path } = discovery;
  const workspace = () => JSON.parse(readFileSync(path, "utf8")).workspacePath;
  return {
    base,
    discovery,
    path,
    workspace,
    reports,
    isBack: (listed = "/a") => waitFor(() => workspace() === listed, "the file to be back"),
  };
}

t.test("the discovery file is restored each time when it, or its directory, is removed", async (t) => {
  const { base, discovery, path, isBack, reports } = start(t);
  for (const removed of [path, join(base, "gemini", "ide"), path, join(base, "gemini"), path]) {
    rmSync(removed, { recursive: true });
    await isBack();
    t.equal(statSync(path).mode & 0o777, 0o600);
  }
  discovery.publish(["/b"]);
  rmSync(path);
  await isBack("/b");
  t.match(reports[0], /has been restored/);
  t.notMatch(reports.join(), SECRET);
});

t.test(
  "the discovery file is restored by a timer and on request, if no event reports its removal",
  async (t) => {
    const slow = start(t);
    // The watch fires no event, because the directory itself has not changed.
    renameSync(join(slow.base, "gemini"), join(slow.base, "elsewhere"));
    slow.discovery.restore();
    t.equal(slow.workspace(), "/a", "at once");
    rmSync(slow.path);
    await slow.isBack();

    const { base, isBack } = start(t, 20);
    renameSync(join(base, "gemini"), join(base, "elsewhere"));
    await isBack();
  },
);

t.test("the discovery file is not restored after the bridge has removed it", async (t) => {
  const { discovery, path } = start(t, 10);
  rmSync(path);
  discovery.remove(); // before the file is restored
  discovery.remove();
  discovery.restore();
  await delay(400); // longer than the delay of a restore
  t.notOk(existsSync(path));
});

t.test("a file that another program has put at the path of the discovery file is not changed", async (t) => {
  const foreign = '{"port":22,"authToken":"another one\'s"}';
  const plants: [name: string, plant: (path: string, base: string) => void, rest: string][] = [
    ["a file", (path) => writeFileSync(path, foreign, { flag: "wx" }), foreign],
    [
      "a file that was renamed",
      (path, base) => {
        writeFileSync(join(base, "other"), foreign);
        renameSync(join(base, "other"), path);
      },
      foreign,
    ],
    [
      "a link",
      (path, base) => {
        writeFileSync(join(base, "other"), foreign);
        symlinkSync(join(base, "other"), path);
      },
      foreign,
    ],
  ];
  for (const [name, plant, rest] of plants) {
    await t.test(name, async (t) => {
      const { base, discovery, path, reports, isBack } = start(t, 10);
      rmSync(path);
      plant(path, base);
      const date = new Date(1_000_000_000_000);
      if (name !== "a link") utimesSync(path, date, date);
      await waitFor(() => reports.some((text) => /has taken the place/.test(text)), "a report");
      discovery.restore();
      discovery.publish(["/b"]);
      t.equal(readFileSync(path, "utf8"), rest);
      if (name !== "a link") t.equal(statSync(path).mtimeMs, date.getTime());
      // After a removal, the discovery file is restored with the newest workspace.
      rmSync(path);
      await isBack("/b");
      rmSync(path);
      plant(path, base);
      discovery.remove();
      t.equal(readFileSync(path, "utf8"), rest, "not removed with ours");
    });
  }
});

t.test("an unsafe directory is not used until it is safe again", async (t) => {
  const { base, path, reports, isBack } = start(t, 20);
  rmSync(join(base, "gemini"), { recursive: true });
  mkdirSync(join(base, "planted"));
  symlinkSync(join(base, "planted"), join(base, "gemini"));
  await waitFor(() => reports.some((text) => /is a symbolic link/.test(text)), "a report");
  t.same(readdirSync(join(base, "planted")), []);
  rmSync(join(base, "gemini"));
  await isBack();
  t.equal(statSync(path).mode & 0o777, 0o600);
});
