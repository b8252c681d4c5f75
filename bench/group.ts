/**
 * Measures one group of the table's rows, and prints the rows as JSON. Each group runs in its own process: texts of 10
 * MB from one group would slow down garbage collection and the start of programs in the next group.
 */
import { groups } from "./groups.ts";
import { ours } from "./subject.ts";

// Suppresses Node's warnings about too many listeners: the client adds a listener for each request, and some rows send
// a thousand requests.
process.removeAllListeners("warning");

const [name = "", floor = ""] = process.argv.slice(2);
const rows = await groups[name]?.(ours, floor);
process.stdout.write(JSON.stringify(rows));
