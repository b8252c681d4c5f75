import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { z } from "zod";
import { root } from "../support/nvim.ts";

const read = (...path: string[]) => readFileSync(join(root, ...path), "utf8");
const Versions = z.record(z.string(), z.string());
const Package = z.object({
  dependencies: Versions,
  devDependencies: Versions,
  scripts: Versions,
});
const Lock = z.object({
  packages: z.record(
    z.string(),
    z.object({
      version: z.string().optional(),
      integrity: z.string().optional(),
      link: z.boolean().optional(),
    }),
  ),
});

const ours = Package.parse(JSON.parse(read("package.json")));

t.test("THIRD_PARTY_NOTICES belongs to the current bundle", async (t) => {
  t.equal(read("THIRD_PARTY_NOTICES"), read("dist", "THIRD_PARTY_NOTICES"), "else: make notices");
});

t.test("every package in the bundle has a licence that permits this use", async (t) => {
  const sections = read("THIRD_PARTY_NOTICES")
    .split(`${"=".repeat(80)}\n`)
    .slice(1);
  t.ok(sections.length > 10);
  for (const section of sections) {
    const [, name, license] = /^(\S+ \S+) \((.*)\)\n/.exec(section) ?? [];
    t.match(license, /^(MIT|ISC|Apache-2\.0|BSD-[23]-Clause|0BSD|BlueOak-1\.0\.0)$/, String(name));
    t.ok(
      section.length > 500 || /contains no licence text\. .* it comes from (git\+)?https?/.test(section),
      `${name} says more`,
    );
  }
});

t.test("the dependencies are the bundled packages and esbuild", async (t) => {
  const notices = read("THIRD_PARTY_NOTICES");
  for (const name of Object.keys(ours.dependencies)) {
    if (name !== "esbuild") t.ok(notices.includes(`\n${name} ${ours.dependencies[name]} (`));
  }
});

t.test("versions are exact, and the lock file has a hash for each package", async (t) => {
  for (const [name, version] of Object.entries({ ...ours.dependencies, ...ours.devDependencies }))
    t.match(version, /^\d+\.\d+\.\d+$/, name);
  const { packages } = Lock.parse(JSON.parse(read("package-lock.json")));
  const others = Object.entries(packages).filter(([path, { link }]) => path !== "" && !link);
  for (const [path, { version, integrity }] of others) {
    if (!version) t.fail(`${path} has no version`);
    // A package inside the archive of another package is covered by the hash of that archive.
    if (!integrity && !path.includes("/node_modules/", 1)) t.fail(`${path} has no hash`);
  }
});

t.test("the installation runs no scripts of packages, and nothing is downloaded at run time", async (t) => {
  const hooks = [
    "preinstall",
    "install",
    "postinstall",
    "prepare",
    "prepublish",
    "preprepare",
    "postprepare",
  ];
  t.same(
    Object.keys(ours.scripts).filter((name) => hooks.includes(name)),
    [],
  );
  // Leaves out strings: a library for schemas has code in strings, which the bridge never runs.
  const modules = [...read("dist", "gemini-bridge.cjs").matchAll(/(?<!['"`])\brequire\("([^"]+)"\)/g)].map(
    ([, name]) => name,
  );
  const { builtinModules } = await import("node:module");
  const foreign = modules.filter((name) => name && !builtinModules.includes(name.replace(/^node:/, "")));
  t.same([...new Set(foreign)], [], "the bundle needs nothing but Node");
  const forbidden = /node:wasi|\bWebAssembly\b|process\.dlopen|\.node"/;
  t.notMatch(read("dist", "gemini-bridge.cjs"), forbidden, "no native code");
});
