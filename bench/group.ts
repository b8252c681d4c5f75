/**
 * Measures one group of rows in a separate process and prints them as JSON. In a single process for all groups, texts
 * of 10 MB from other groups would slow down the start of programs and the garbage collection.
 */
import { groups } from "./groups.ts";
import { ours } from "./subject.ts";

// Suppresses the warnings about many listeners: the client has one for each of a thousand requests.
process.removeAllListeners("warning");

const [name = "", floor = ""] = process.argv.slice(2);
const rows = await groups[name]?.(ours, floor);
process.stdout.write(JSON.stringify(rows));
