import t from "tap";
import { createLog } from "../../src/base/log.ts";
import { createKeptFiles } from "../../src/changes/kept-files.ts";
import { temporary } from "../support/temporary.ts";

t.test("of several values for one key the last is stored, also if it comes during a pause", async (t) => {
  const directory = temporary(t);
  const kept = createKeptFiles(directory, createLog());
  const slow = {
    toJSON() {
      const end = performance.now() + 10; // long enough that writing pauses
      while (performance.now() < end);
      setImmediate(() => kept.save("key", "new"));
      return "slow";
    },
  };
  kept.save("slow", slow);
  kept.save("key", "old");
  await kept.flush();
  await kept.flush();
  t.strictSame((await createKeptFiles(directory, createLog()).load()).sort(), ["new", "slow"]);
});
