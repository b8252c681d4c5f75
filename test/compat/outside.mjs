// Hides that this machine is a container. In a container, Gemini CLI up to 0.30 always connects to another host.
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const MARKS = ["/.dockerenv", "/run/.containerenv"];
const { existsSync } = fs;
fs.existsSync = (path) => !MARKS.includes(path) && existsSync(path);
syncBuiltinESMExports();
