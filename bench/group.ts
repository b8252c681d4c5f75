/**
 * Measures one group of rows, and prints the rows as JSON. Each group runs in a process of its own, because texts of 10
 * MB from one group would slow down garbage collection and the start of programs in other groups.
 */
import { groups } from "./groups.ts";
import { ours } from "./subject.ts";

// Suppresses Node's warnings about too many listeners: the client adds a listener for each of a thousand requests.
process.removeAllListeners("warning");

const [name = "", floor = ""] = process.argv.slice(2);
const rows = await groups[name]?.(ours, floor);
process.stdout.write(JSON.stringify(rows));
