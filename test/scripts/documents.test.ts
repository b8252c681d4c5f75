/** Tests that the documents only name files that exist. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import t from "tap";
import { root } from "../support/nvim.ts";

const DOCUMENTS = [
  ...["README.md", "SECURITY.md", "CONTRIBUTING.md", "bench/README.md"],
  ...["architecture", "compatibility", "performance", "reliability"].map((name) => `doc/${name}.md`),
];

for (const document of DOCUMENTS) {
  t.test(`${document} names files and folders that exist`, async (t) => {
    const text = readFileSync(join(root, document), "utf8");
    const paths = [...text.matchAll(/`((?:src|lua|test|scripts|doc|bench|rplugin)\/[\w./-]+)`/g)];
    for (const [, path = ""] of paths) t.ok(existsSync(join(root, path)), path);
    const links = [...text.matchAll(/(?:\]\(|src(?:set)?=")(?!https?:)([^)#"]+)/g)];
    t.ok(paths.length + links.length > 0, "some are found");
    for (const [, path = ""] of links) t.ok(existsSync(join(root, dirname(document), path)), path);
  });
}
