/** Simulates a working day: random keys and commands of a user, with random events of CLIs and of the disk. */
import fc from "fast-check";
import t from "tap";
import { fuzz } from "../support/fuzz.ts";
import { WorkingDay } from "../support/working-day.ts";
import { days } from "../support/working-day-steps.ts";

t.test(
  "after a working day no typed word is lost and the editor is as the user left it",
  { timeout: 3_600_000 },
  async (t) => {
    const property = fc.asyncProperty(days, async (day) => (await WorkingDay.begin(t)).live(day));
    await fc.assert(property, { ...fuzz(t, "working days of 60 steps", 3, 500), endOnFailure: true });
  },
);
