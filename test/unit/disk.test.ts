/** Tests reading while a network drive does not answer. test/root/network.test.ts uses a real network drive. */
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { parseMountInfo } from "../../src/system/linux.ts";
import { networksIn, networksNow } from "../../src/system/mounts.ts";
import { createQueue, NoAnswer } from "../../src/system/network-queue.ts";
import { makeDirectory } from "../support/sandbox.ts";
import { waitFor } from "../support/wait.ts";

/** Creates a read whose answer the test controls. */
function question() {
  let settle: ((value: string) => void) | undefined;
  const asked = () =>
    new Promise<string>((resolve) => {
      settle = resolve;
    });
  return { asked, isAsked: () => settle !== undefined, answer: (value: string) => settle?.(value) };
}

t.test("network mounts are recognized", async (t) => {
  const table = parseMountInfo(
    [
      "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw",
      "23 22 0:21 / /proc rw - proc proc rw",
      "24 22 0:40 / /mnt/my\\040share rw shared:2 master:3 - nfs4 server:/x rw",
      "25 22 0:41 / /media/sshfs rw - fuse.sshfs me@there: rw",
      "26 22 0:42 / /auto rw - autofs /etc/auto rw",
      "27 26 0:43 / /auto/local rw - ext4 /dev/sdb rw",
      "28 22 0:44 / /windows rw - fuseblk /dev/sdc rw",
      "29 22 0:45 / /over rw - nfs4 server:/y rw",
      "30 29 0:46 / /over rw - tmpfs tmpfs rw",
      "",
    ].join("\n"),
  );
  const networks = networksIn(table);
  t.same([...networks], ["/mnt/my share", "/media/sshfs", "/auto"]);
  t.equal(networksNow(networks)("/auto/local/file"), "/auto", "on the way is enough");
  t.equal(networksNow(new Set("/"))("/any/file"), "/");
});

t.test("links in a path are followed until they reach a network drive", async (t) => {
  const base = makeDirectory(t);
  mkdirSync(join(base, "net/inner"), { recursive: true });
  mkdirSync(join(base, "local"));
  symlinkSync("../net/dir", join(base, "local/link"));
  symlinkSync(join(base, "local"), join(base, "around"));
  symlinkSync("loop", join(base, "loop"));
  const places = [join(base, "net"), join(base, "net/inner")];
  const networkOf = networksNow(new Set(places));
  const cases: [path: string, place: string | undefined][] = [
    ["net", "net"],
    ["net/a/b", "net"],
    ["net/inner/a", "net/inner"],
    ["network", undefined],
    ["local/a", undefined],
    ["local/link/a", "net"],
    ["around/link", "net"],
    ["local/../net/a", "net"],
    ["net/../local/a", "net"],
    ["local/./a", undefined],
    ["loop/a", undefined],
    ["none/a", undefined],
  ];
  for (const [path, place] of cases) t.equal(networkOf(`${base}/${path}`), place && join(base, place), path);
});

t.test("a silent drive is read only once, and other drives can still be read", async (t) => {
  const queue = createQueue(100);
  const [dead, next, other] = [question(), question(), question()];
  let answers = 0;
  t.teardown(queue.onAnswer(() => answers++));
  const refused = [queue.ask("/dead", dead.asked), queue.ask("/dead", next.asked)];
  const served = queue.ask("/other", other.asked);
  t.ok(dead.isAsked() && other.isAsked());
  t.notOk(next.isAsked(), "one question at a time");
  other.answer("yes");
  t.equal(await served, "yes");
  for (const one of refused) await t.rejects(one, NoAnswer);
  await t.rejects(
    queue.ask("/dead", async () => t.fail("it is asked again")),
    { message: "/dead does not answer" },
  );
  t.notOk(next.isAsked());
  t.ok(queue.isWaiting());
  t.equal(await queue.ask("/other", async () => "still"), "still");
  dead.answer("late");
  await waitFor(() => answers === 1, "word of its return");
  t.equal(await queue.ask("/dead", async () => "back"), "back");
  t.notOk(queue.isWaiting());
});

t.test("two silent drives leave threads for other reads", async (t) => {
  const queue = createQueue(100);
  const [one, two, three] = [question(), question(), question()];
  const all = [one, two, three].map(({ asked }, index) => queue.ask(`/dead${index}`, asked));
  await Promise.all(all.map((asked) => t.rejects(asked, NoAnswer)));
  t.notOk(three.isAsked());
  await t.rejects(
    queue.ask("/live", async () => "yes"),
    NoAnswer,
  );
  one.answer("late");
  await waitFor(() => queue.ask("/live", async () => "yes"), "an answer");
  two.answer("late");
});

t.test("a system error counts as an answer", async (t) => {
  const queue = createQueue(100);
  await t.rejects(
    queue.ask("/there", () => Promise.reject(new Error("no such thing"))),
    { message: "no such thing" },
  );
  t.equal(await queue.ask("/there", async () => "yes"), "yes");
});
