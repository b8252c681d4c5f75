/** Lists as Lua sends them. */
import * as z from "zod";

/** Lua cannot tell an empty list from an empty map. */
export const list = <T extends z.ZodType>(item: T) =>
  z.preprocess((value) => (isEmptyObject(value) ? [] : value), z.array(item));

function isEmptyObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}
