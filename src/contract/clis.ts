/** The CLIs of the option `clis`, as Lua has checked them: a part of CONTRACT 1. */
import * as z from "zod";

/** The CLIs that are known. Every other one is a descendant of one of them. */
export const CliKind = z.enum(["gemini", "qwen", "llxprt"]);
export type CliKind = z.infer<typeof CliKind>;

/** The option `clis`, with the programs of those that it does not name, as Lua has checked it. */
export const Clis = z.array(
  z.object({
    name: z.string(),
    /** The known one that it is a descendant of. */
    like: CliKind,
    cmd: z.array(z.string()).min(1),
    label: z.string().optional(),
    directory: z.string().optional(),
    file: z.string().optional(),
    env: z.string().optional(),
    /** The user's settings file. */
    settings: z.string().optional(),
  }),
);
export type Clis = z.infer<typeof Clis>;
