/** Tests random turns of two agents with edits of the user. No byte of the user may be lost, and undo must be exact. */
import fc from "fast-check";
import t from "tap";
import { deadline, fuzz } from "../support/fuzz.ts";
import { within } from "../support/scope.ts";
import { step } from "../support/turn-steps.ts";
import { Turns } from "../support/turns.ts";

for (const isGit of [true, false])
  t.test(
    `${isGit ? "in" : "outside"} a Git work tree, undo restores the user's text exactly`,
    { timeout: 3_600_000 },
    async (t) => {
      const isOver = deadline(9_000);
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 32 }), async (steps) => {
          if (isOver()) return;
          await within(async (scope) => {
            const turns = await Turns.start(scope, isGit);
            for (const one of steps) await turns.take(one);
            await turns.end();
          });
        }),
        fuzz(t, "turns", 150),
      );
    },
  );
