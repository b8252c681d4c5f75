/** Tests that the real entry of the host starts with any content of the code cache and never crashes. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { text } from "node:stream/consumers";
import t, { type Test } from "tap";
import { KEEP_CODE_CACHE } from "../support/code-cache.ts";
import { root } from "../support/nvim.ts";
import { makeDirectory, withEnv } from "../support/sandbox.ts";
import { waitFor } from "../support/wait.ts";

/** Number of runs with a damaged cache. Each run damages other places. */
const RUNS = 2;

/** Copies the entry and the bundle, so that tests can damage the cache. */
async function copyBuilt(t: Test) {
  const dir = makeDirectory(t);
  for (const name of ["rplugin", "dist/gemini-bridge.cjs"])
    cpSync(join(root, name), join(dir, name), { recursive: true });
  const dist = join(dir, "dist");
  const start = (...args: string[]) => {
    const [file = "", ...words] = withEnv({}, [process.execPath, ...args]);
    return spawn(file, words, { cwd: dir, stdio: ["pipe", "pipe", "pipe"] });
  };
  const make = () => once(start("-e", KEEP_CODE_CACHE), "exit");
  const [code] = await make();
  if (code !== 0) throw new Error("no cache was made");
  const [name = "", ...others] = caches();
  if (others.length > 0) throw new Error(`more than one cache: ${others}`);

  function caches(): string[] {
    return readdirSync(dist).filter((name) => name.endsWith(".cache"));
  }
  return {
    dist,
    caches,
    make,
    start,
    /** Makes the folder read-only. */
    protect: () => chmodSync(dist, 0o555),
    cache: join(dist, name),
    /**
     * Starts the entry as Neovim does, and waits until the entry attaches.
     * @returns the exit of the process, and its output
     */
    async run(alive: (errors: () => string) => unknown = () => true) {
      const host = start("rplugin/node/gemini-bridge/index.js");
      let errors = "";
      host.stderr.setEncoding("utf8").on("data", (text: string) => {
        errors += text;
      });
      const ended = once(host, "exit");
      const asked = once(host.stdout, "data").then(([bytes]) => String(bytes).includes("attach"));
      const lives = await Promise.race([asked, ended.then(() => false)]);
      if (lives) await alive(() => errors);
      host.stdin.end(); // as when Neovim ends
      const [code, signal] = await ended;
      return { lives, code, signal, errors };
    },
  };
}

const WELL = { lives: true, code: 0, signal: null, errors: "" };

t.test("a cache with flipped bits is not used", async (t) => {
  const { cache, run } = await copyBuilt(t);
  const whole = readFileSync(cache);
  t.same(await run(), WELL);
  for (let seed = 0; seed < RUNS; seed += 1) {
    // Flips one bit in each block of 100 bytes, at other places in each run. Later flips one bit in the whole file.
    const damaged = Buffer.from(whole);
    for (let at = seed * 11; at < damaged.length; at += 100)
      damaged.writeUInt8(damaged.readUInt8(at) ^ (1 << (seed % 8)), at);
    writeFileSync(cache, damaged);
    t.same(await run(), WELL, `many bits, from byte ${seed * 11}`);
    const at = Math.floor((whole.length * (seed + 0.5)) / RUNS);
    const one = Buffer.from(whole);
    one.writeUInt8(one.readUInt8(at) ^ 0x10, at);
    writeFileSync(cache, one);
    t.same(await run(), WELL, `one bit, in byte ${at}`);
  }
});

t.test("a truncated, empty or foreign cache is not used", async (t) => {
  const { cache, run } = await copyBuilt(t);
  const whole = readFileSync(cache);
  for (const [name, content] of Object.entries({
    empty: "",
    "a byte": whole.subarray(0, 1),
    "the hash alone": whole.subarray(0, 32),
    half: whole.subarray(0, whole.length / 2),
    "all but one byte": whole.subarray(0, -1),
    "one byte more": Buffer.concat([whole, Buffer.alloc(1)]),
    text: "this is no cache\n".repeat(1000),
  })) {
    writeFileSync(cache, content);
    t.same(await run(), WELL, name);
  }
});

t.test("a cache of another version is not used, even with the name of this version", async (t) => {
  const { cache, caches, dist, run } = await copyBuilt(t);
  const code = readFileSync(cache);
  const bundle = join(dist, "gemini-bridge.cjs");
  const source = readFileSync(bundle, "utf8");
  // Another build with the same length. V8 would accept the old cache and use functions of the old build.
  writeFileSync(
    bundle,
    source.replace(/^\/\/\w+/, (name) => `//${"0".repeat(name.length - 2)}`),
  );
  const other = join(dist, `${"0".repeat(16)}-${process.version}-${process.arch}.cache`);
  writeFileSync(other, code);
  rmSync(cache);
  t.same(await run(() => waitFor(() => !readFileSync(other).equals(code), "another cache", 20_000)), WELL);
  t.same(caches(), [other.slice(dist.length + 1)]);
});

t.test("a damaged or missing cache is created again after the start", async (t) => {
  const { cache, caches, run } = await copyBuilt(t);
  const whole = readFileSync(cache);
  const damages: [name: string, damage: () => void][] = [
    ["damaged", () => writeFileSync(cache, whole.subarray(0, -1))],
    ["missing", () => rmSync(cache)],
  ];
  for (const [name, damage] of damages) {
    damage();
    const before = statSync(cache, { throwIfNoEntry: false })?.ino;
    const isMade = () => statSync(cache).ino !== before && caches().length === 1;
    t.same(await run(() => waitFor(isMade, "the cache", 20_000)), WELL, name);
    const made = statSync(cache).ino;
    t.same(await run(), WELL);
    t.equal(statSync(cache).ino, made, "and used from then on");
  }
});

t.test("in a read-only folder, no cache is created and no message is shown", async (t) => {
  const { cache, dist, protect, run, start } = await copyBuilt(t);
  t.teardown(() => chmodSync(dist, 0o755));
  rmSync(cache);
  protect();
  const names = readdirSync(dist);
  t.same(await run(), WELL);
  const asked = start("-p", 'require("./rplugin/node/gemini-bridge/cache.js")("dist", "x").isWritable()');
  t.equal(await text(asked.stdout), "false\n", "the host does not try");
  t.same(readdirSync(dist), names);
});

t.test("only one process at a time creates the cache, even after another process has died", async (t) => {
  const { cache, caches, make } = await copyBuilt(t);
  const lock = `${cache}.lock`;
  rmSync(cache);
  writeFileSync(lock, "");
  t.same(await make(), [0, null]);
  t.same(caches(), [], "another one is at it");
  const longAgo = Date.now() / 1000 - 120;
  utimesSync(lock, longAgo, longAgo);
  t.same(await make(), [0, null]);
  t.equal(caches().length, 1, "that one has died");
  t.notOk(existsSync(lock));
});

t.test("the cache of the previous build is removed", async (t) => {
  const { cache, caches, dist, make } = await copyBuilt(t);
  const old = join(dist, `${"0".repeat(16)}-${process.version}-${process.arch}.cache`);
  const ofAnotherNode = cache.replace(process.version, "v99.0.0");
  for (const path of [old, ofAnotherNode]) writeFileSync(path, "code");
  t.same(await make(), [0, null]);
  t.same(caches().sort(), [cache, ofAnotherNode].map((path) => basename(path)).sort());
});

t.test("several processes can remove the same old caches", async (t) => {
  const { caches, cache, dist } = await copyBuilt(t);
  const write = `require(${JSON.stringify(join(dist, "../rplugin/node/gemini-bridge/cache.js"))})(
    ${JSON.stringify(dist)}, ${JSON.stringify(basename(cache).split("-")[0])}).write(Buffer.from("code"))`;
  for (let number = 0; number < 1000; number += 1)
    writeFileSync(join(dist, `${String(number).padStart(16, "0")}-v1-x.cache`), "");
  const makers = [1, 2, 3, 4].map(() => spawn(process.execPath, ["-e", write], { stdio: "pipe" }));
  for (const [code] of await Promise.all(makers.map((maker) => once(maker, "exit")))) t.equal(code, 0);
  t.same(caches(), [basename(cache)]);
});
