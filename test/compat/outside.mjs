// Makes a machine that is a container look like one that is none: releases up to 0.30 dial another host in a
// container, whatever their environment says.
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const MARKS = ["/.dockerenv", "/run/.containerenv"];
const { existsSync } = fs;
fs.existsSync = (path) => !MARKS.includes(path) && existsSync(path);
syncBuiltinESMExports();
