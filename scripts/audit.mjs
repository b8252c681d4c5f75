// Asks npm's registry for known vulnerabilities in the packages that users run. If the registry does not answer, prints
// that there was no answer, and succeeds.
import { spawnSync } from "node:child_process";

const { stdout } = spawnSync("npm", ["audit", "--omit=dev", "--json"], { encoding: "utf8" });
let report;
try {
  report = JSON.parse(stdout);
} catch {
  report = {};
}
const found = report.metadata?.vulnerabilities;
if (!found) {
  console.log(
    `npm audit has no answer: ${report.message ?? report.error?.summary ?? "the registry does not support it"}`,
  );
} else if (found.total > 0) {
  for (const { name, severity, range } of Object.values(report.vulnerabilities))
    console.error(`${name} ${range}: ${severity}`);
  process.exitCode = 1;
} else {
  console.log("npm audit found no vulnerabilities");
}
