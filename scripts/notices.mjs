// Collects the licences of the packages in the bundle. Finds the packages in esbuild's list of bundled files.
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const LICENCE = /^(licen[cs]e|copying|notice)(\.|-|$)/i;

/**
 * Finds the packages in a bundle.
 * @param {Pick<import("esbuild").Metafile, "outputs">} metafile
 * @param {string} root the directory to which the metafile's paths are relative
 * @returns {{ name: string, version: string, license: string, source: string, texts: string[] }[]} by name and version
 */
export function bundledPackages(metafile, root) {
  const files = Object.values(metafile.outputs).flatMap(({ inputs }) =>
    Object.keys(inputs).filter((path) => inputs[path].bytesInOutput > 0),
  );
  const folders = new Set(files.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []));
  const packages = [...folders].map((path) => {
    const folder = resolve(root, path);
    const { name, version, license, repository } = JSON.parse(
      readFileSync(join(folder, "package.json"), "utf8"),
    );
    const files = readdirSync(folder).filter((file) => LICENCE.test(file));
    const texts = files.sort().map((file) => readFileSync(join(folder, file), "utf8").trim());
    return { name, version, license: String(license), source: String(repository?.url ?? repository), texts };
  });
  const key = ({ name, version }) => `${name} ${version}`;
  const unique = new Map(packages.map((one) => [key(one), one]));
  return [...unique.values()].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}

/**
 * Formats the licences of packages.
 * @param {ReturnType<typeof bundledPackages>} packages
 */
export function notices(packages) {
  const sections = packages.map(({ name, version, license, source, texts }) => {
    const none = `The package contains no licence text. Its licence is ${license}; it comes from ${source}.`;
    const text = texts.length > 0 ? texts.join("\n\n") : none;
    return `${"=".repeat(80)}\n${name} ${version} (${license})\n\n${text}\n`;
  });
  const head = "The files in dist/ contain code of these packages, each under its own licence.\n";
  return [head, ...sections].join("\n").replaceAll("\r\n", "\n");
}
