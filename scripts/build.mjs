// Bundles src/index.ts with everything it imports into one CommonJS file, dist/gemini-bridge.cjs. Neovim's plugin host
// loads this file with `require`, and needs no node_modules. Each program that runs beside the host gets its own
// bundle.
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { bundledPackages, notices } from "./notices.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const entry = join(root, "src/index.ts");
const outdir = join(root, "dist");
const outfile = join(outdir, "gemini-bridge.cjs");

/** Entry files of the programs that run beside the host. The keys are the names of their bundles. */
const programs = {
  doctor: join(root, "src/programs/doctor.ts"),
  neovim: join(root, "src/programs/neovim.ts"),
};

/** Data that both Lua and Node read. */
const PROFILES = "lua/gemini-bridge/config/profiles.json";

/** Returns a hash of all sources. By this hash, lua/gemini-bridge/host/bundle.lua detects a stale bundle. */
function hashOfSources() {
  const hash = (content) => createHash("sha256").update(content).digest("hex");
  const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
    .map((name) => join(root, "src", name))
    .filter((path) => statSync(path).isFile());
  const paths = [join(root, "package-lock.json"), join(root, PROFILES), ...sources].sort();
  return hash(paths.map((path) => hash(readFileSync(path))).join(""));
}

/**
 * Replaces a file atomically. A program that is reading the file gets the complete old text.
 * @param {string} path
 * @param {string} content
 */
function replace(path, content) {
  writeFileSync(`${path}.new`, content);
  renameSync(`${path}.new`, path);
}

/** @param {string} message */
function fail(message) {
  console.error(`build: ${message}`);
  process.exit(1);
}

if (!existsSync(entry)) fail(`${relative(root, entry)} is missing`);
const { build, transform } = await import("esbuild").catch(() =>
  fail("esbuild is not installed; run: npm ci"),
);

/**
 * Shortens the local names of libraries, which makes the bundle a tenth smaller. Keeps the names of `src`, so that
 * stack traces in a user's log are readable. (esbuild's option keepNames would cost time and memory.)
 * @type {import("esbuild").Plugin}
 */
const shortNames = {
  name: "short-names",
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]node_modules[\\/].*\.[cm]?js$/ }, async ({ path }) => {
      const { code } = await transform(readFileSync(path, "utf8"), { minifyIdentifiers: true });
      return { contents: code };
    });
  },
};

const sources = hashOfSources();

/**
 * Bundles an entry with its imports.
 * @param {string} entry
 */
async function bundle(entry) {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: [entry],
    write: false,
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node20",
    // Loads Node's own modules with `require`, which is faster than `import()`.
    supported: { "dynamic-import": false },
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: "none",
    metafile: true,
    plugins: [shortNames],
    define: {
      SOURCES: JSON.stringify(sources),
      // The package `ws` then does not look for its optional native code at run time.
      "process.env.WS_NO_BUFFER_UTIL": "true",
      "process.env.WS_NO_UTF_8_VALIDATE": "true",
    },
    logLevel: "warning", // esbuild prints each error with its source position
  });
  return { text: outputFiles[0].text, metafile };
}

/** @param {string} entry */
const bundleOrFail = (entry) => bundle(entry).catch(() => fail(`${relative(root, entry)} was not bundled`));

const { text, metafile } = await bundleOrFail(entry);
mkdirSync(outdir, { recursive: true });
const outputs = { ...metafile.outputs };
for (const [program, path] of Object.entries(programs)) {
  const bundled = await bundleOrFail(path);
  Object.assign(outputs, bundled.metafile.outputs);
  replace(join(outdir, `${program}.cjs`), bundled.text);
}
replace(outfile, text);
const { offer } = createRequire(import.meta.url)(outfile);
replace(join(outdir, "neovim.json"), JSON.stringify(await offer()));
writeFileSync(join(outdir, "sources.sha256"), sources);
writeFileSync(join(outdir, "THIRD_PARTY_NOTICES"), notices(bundledPackages({ outputs }, root)));
