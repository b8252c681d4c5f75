/** The inspector of this system. */
import type { Inspector } from "./inspector.ts";
import { linux } from "./linux.ts";
import { macos } from "./macos.ts";

export const inspect: Inspector = process.platform === "linux" ? linux : macos;
