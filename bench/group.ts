/**
 * Measures one group of rows in a process of its own and prints them as JSON: a process that holds the texts of 10 MB
 * of another group takes ten times as long to start a third, and collects garbage that is not of the group's making.
 */
import { groups } from "./groups.ts";
import { ours } from "./subject.ts";

// The client of a thousand requests has as many listeners, and would say so of each.
process.removeAllListeners("warning");

const [name = "", floor = ""] = process.argv.slice(2);
const rows = await groups[name]?.(ours, floor);
process.stdout.write(JSON.stringify(rows));
