// Hides that this machine is a container: in a container, releases up to 0.30 connect to another host,
// whatever their environment says.
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const MARKS = ["/.dockerenv", "/run/.containerenv"];
const { existsSync } = fs;
fs.existsSync = (path) => !MARKS.includes(path) && existsSync(path);
syncBuiltinESMExports();
