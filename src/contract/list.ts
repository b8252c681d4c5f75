/** Parses lists and maps from Lua, where an empty table may stand for either of them. */
import * as z from "zod";

export const list = <T extends z.ZodType>(item: T) =>
  z.preprocess((value) => (isEmptyObject(value) ? [] : value), z.array(item));

export const map = <T extends z.ZodType>(item: T) =>
  z.preprocess((value) => (Array.isArray(value) ? {} : value), z.record(z.string(), item));

function isEmptyObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}
