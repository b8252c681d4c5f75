/** Lists the groups of the table's rows, in the order of the table. */
import { changeRows } from "./rows/changes.ts";
import { diffRows } from "./rows/diffs.ts";
import { eventRows, snapshotRows } from "./rows/events.ts";
import { hookRows } from "./rows/hooks.ts";
import { broadcastRows, latencyRows } from "./rows/latency.ts";
import { pageRows } from "./rows/page.ts";
import { footprintRows, growthRows, resourceRows } from "./rows/resources.ts";
import { scalingRows } from "./rows/scaling.ts";
import { sizeRows } from "./rows/sizes.ts";
import { socketRows } from "./rows/sockets.ts";
import { startRows } from "./rows/start.ts";
import { startupRows } from "./rows/startup.ts";
import { toolFileRows } from "./rows/tool-files.ts";
import { toolRows } from "./rows/tools.ts";
import { turnRows } from "./rows/turns.ts";
import { visibleRows } from "./rows/visible.ts";
import type { Subject } from "./subject.ts";
import type { Row } from "./table.ts";

type Group = (subject: Subject, floor: string) => Promise<Row[]> | Row[];

export const groups: Readonly<Record<string, Group>> = {
  startup: startupRows,
  start: startRows,
  events: eventRows,
  snapshot: snapshotRows,
  latency: latencyRows,
  broadcast: broadcastRows,
  hooks: hookRows,
  diffs: diffRows,
  visible: visibleRows,
  sockets: socketRows,
  changes: changeRows,
  page: pageRows,
  turns: turnRows,
  tools: toolRows,
  "tool-files": toolFileRows,
  resources: resourceRows,
  scaling: scalingRows,
  sizes: sizeRows,
};

/** The groups that can be measured for every plugin that implements Gemini CLI's companion protocol. */
export const comparable: Readonly<Record<string, Group>> = {
  startup: startupRows,
  start: startRows,
  events: eventRows,
  snapshot: snapshotRows,
  diffs: diffRows,
  visible: visibleRows,
  memory: footprintRows,
  growth: growthRows,
};
