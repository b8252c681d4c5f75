/** A minimal host: a Node process that only attaches to Neovim. Its times are the lower limit for those of the plugin. */
import { attach } from "neovim";

const nvim = attach({ reader: process.stdin, writer: process.stdout });
nvim.on("disconnect", () => process.exit());
void nvim.executeLua("floor_attached()", []);
