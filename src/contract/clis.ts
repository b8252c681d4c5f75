/** Defines the CLIs of the option `clis`, as checked by Lua (part of CONTRACT 1). */
import * as z from "zod";
import { list } from "./list.ts";

/** The known CLIs. Every other CLI is derived from one of them. */
export const CliKind = z.enum(["gemini", "qwen", "llxprt", "claude", "opencode"]);
export type CliKind = z.infer<typeof CliKind>;

/** An entry of the option `clis`, or a known CLI. */
export const Cli = z.object({
  name: z.string(),
  /** The known CLI itself, or the known CLI from which this CLI is derived. */
  like: CliKind,
  cmd: z.array(z.string()).min(1),
  label: z.string().optional(),
  directory: z.string().optional(),
  file: z.string().optional(),
  env: z.string().optional(),
  /** Path of the user's settings file for this CLI. */
  settings: z.string().optional(),
});

/** The option `clis`, completed with the programs of the known CLIs. */
export const Clis = list(Cli);
export type Clis = z.infer<typeof Clis>;
