/** Tests that the documents for contributors only name files that exist. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { root } from "../support/nvim.ts";

for (const document of ["SECURITY.md", "CONTRIBUTING.md", "bench/README.md"]) {
  t.test(`${document} names files and folders that exist`, async (t) => {
    const text = readFileSync(join(root, document), "utf8");
    const paths = [...text.matchAll(/`((?:src|lua|test|scripts|doc|bench|rplugin)\/[\w./-]+)`/g)];
    t.ok(paths.length > 2, "some are found");
    for (const [, path = ""] of paths) t.ok(existsSync(join(root, path)), path);
  });
}
