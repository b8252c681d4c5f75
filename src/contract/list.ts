/** Parses lists and maps from Lua. An empty Lua table may be an empty list or an empty map. */
import * as z from "zod";

export const list = <T extends z.ZodType>(item: T) =>
  z.preprocess((value) => (isEmptyObject(value) ? [] : value), z.array(item));

export const map = <T extends z.ZodType>(item: T) =>
  z.preprocess((value) => (Array.isArray(value) ? {} : value), z.record(z.string(), item));

function isEmptyObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}
