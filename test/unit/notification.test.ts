import fc from "fast-check";
import t from "tap";
import { encode } from "../../src/http/notification.ts";
import { fuzz } from "../support/fuzz.ts";

const text = ({ data }: ReturnType<typeof encode>) => [...data()].map(String).join("");

t.test("a text of any length is encoded to the same JSON as by JSON.stringify", (t) => {
  const units = fc.string({
    unit: fc.constantFrom("a", "\n", '"', "\\", "é", "𝄞", "\ud834", "\udd1e", "\0"),
    minLength: 1,
  });
  fc.assert(
    fc.property(fc.string(), fc.string(), units, fc.nat(700_000), (filePath, start, unit, length) => {
      const content = start + unit.repeat(Math.ceil(length / unit.length));
      const params = { filePath, content };
      const message = { jsonrpc: "2.0", method: "ide/diffAccepted", params };
      return text(encode("ide/diffAccepted", params)) === `${JSON.stringify(message)}\n\n`;
    }),
    fuzz(t, "messages", 50),
  );
  t.end();
});

t.test("a long text is encoded in pieces, each time when the message is sent", (t) => {
  const notification = encode("ide/diffAccepted", { filePath: "/a", content: "x".repeat(1_000_000) });
  t.equal([...notification.data()].length, 1 + Math.ceil(1_000_000 / (128 * 1024)) + 1);
  t.equal(text(notification), text(notification));
  t.equal([...encode("ide/diffRejected", { filePath: "/a" }).data()].length, 1);
  t.end();
});
