// Bundles the tests with their libraries for one run. Bundled tests start three times as fast.
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";

/**
 * Replaces the properties of `import.meta` by those of the source file. Otherwise, these properties would name the
 * bundle.
 */
const places = {
  name: "places",
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const contents = readFileSync(path, "utf8")
        .replaceAll("import.meta.dirname", JSON.stringify(dirname(path)))
        .replaceAll("import.meta.url", JSON.stringify(pathToFileURL(path).href));
      return { contents, loader: "ts" };
    });
  },
};

/**
 * Bundles test files.
 * @param {string} root of the repository
 * @param {string[]} files relative to the root
 * @returns `path` returns the path of a file's bundle; `remove` removes all bundles
 */
export async function bundleTests(root, files) {
  mkdirSync(join(root, ".tap"), { recursive: true });
  const outdir = mkdtempSync(join(root, ".tap", "tests-"));
  chmodSync(outdir, 0o755); // an ordinary user may run the bundles
  const remove = () => rmSync(outdir, { recursive: true, force: true });
  try {
    await build({
      absWorkingDir: root,
      entryPoints: files,
      outdir,
      outbase: root,
      bundle: true,
      splitting: true,
      format: "esm",
      platform: "node",
      target: "node20",
      outExtension: { ".js": ".mjs" },
      sourcemap: "linked",
      sourcesContent: false, // each process reads the source maps
      // Does not bundle these packages: esbuild is a native program, and @google packages load files from their own
      // folders.
      external: ["esbuild", "@google/*"],
      banner: {
        js: `import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url);`,
      },
      plugins: [places],
      logLevel: "warning",
    });
  } catch (error) {
    remove();
    throw error;
  }
  return { path: (file) => join(outdir, file.replace(/\.ts$/, ".mjs")), remove };
}
