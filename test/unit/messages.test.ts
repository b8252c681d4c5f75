import { once } from "node:events";
import { decodeMulti, ExtData, encode } from "@msgpack/msgpack";
import fc from "fast-check";
import t from "tap";
import { Messages } from "../../src/neovim/client.ts";
import { anyString, fuzz } from "../support/fuzz.ts";

/** Generates all types of msgpack. Lengths are near the limits of the formats. */
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.oneof(
      fc.constantFrom(null, true, false),
      fc.integer(),
      fc.double({ noNaN: true }),
      anyString(),
      fc.uint8Array(),
      fc.constantFrom(0, 15, 16, 31, 32, 255, 256, 65_535, 65_536).map((length) => "a".repeat(length)),
      fc.constantFrom(0, 255, 256, 65_536).map((length) => new Uint8Array(length)),
      fc
        .constantFrom(1, 2, 3, 4, 8, 16, 17, 256, 65_536)
        .map((length) => new ExtData(5, new Uint8Array(length))),
    ),
    fc.array(tie("value"), { maxLength: 20 }),
    // The decoder refuses this key, even in a valid message.
    fc.dictionary(
      fc.string().filter((key) => key !== "__proto__"),
      tie("value"),
      { maxKeys: 20 },
    ),
    fc.constantFrom(16, 65_536).map((length) => new Array(length).fill(1)),
  ),
}));

t.test("only complete messages are passed on, however they are split", async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(value, { minLength: 1, maxLength: 5 }),
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 8 }),
      async (values, cuts) => {
        const bytes = Buffer.concat(values.map((value) => encode(value)));
        const at = [0, ...cuts.map((cut) => Math.round(cut * bytes.length)), bytes.length].sort(
          (a, b) => a - b,
        );
        const stream = new Messages();
        const passed: Uint8Array[] = [];
        stream.on("data", (chunk) => passed.push(chunk));
        for (let i = 1; i < at.length; i += 1) stream.write(bytes.subarray(at[i - 1], at[i]));
        stream.end();
        await once(stream, "end");
        // Decodes each passed piece alone, because no piece may end within a message.
        const decoded = passed.flatMap((chunk) => [...decodeMulti(chunk)]);
        t.same(decoded.length, values.length);
        t.ok(Buffer.concat(passed).equals(bytes));
      },
    ),
    fuzz(t, "RPC messages, cut anywhere", 100),
  );
});

t.test("a message is passed on as soon as it is complete", async (t) => {
  const stream = new Messages();
  const first = encode([2, "first", []]);
  const second = encode([2, "second", ["a".repeat(100)]]);
  stream.write(Buffer.concat([first, second.subarray(0, 20)]));
  t.same(stream.read(), Buffer.from(first));
  t.equal(stream.read(), null);
  stream.write(second.subarray(20));
  t.same(stream.read(), Buffer.from(second));
});
