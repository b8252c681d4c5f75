import fc from "fast-check";
import t from "tap";
import { beginning, count, cutOff, oneLine, tally } from "../../src/model/format.ts";
import { hoverText, placesOf, symbolsOf } from "../../src/model/lsp-answers.ts";
import { decode, encode, findSymbol } from "../../src/model/symbol-position.ts";
import { anyString, fuzz } from "../support/fuzz.ts";

t.test("lists are formatted for a model", async (t) => {
  t.equal(count(1, "error"), "1 error");
  t.equal(tally([2, 0, 1, 0]), "2 errors, 1 info");
  t.equal(tally([0, 0, 0, 0]), "no diagnostics");
  t.same(cutOff(2, 2, "…"), []);
  t.same(cutOff(2, 5, "name a path"), ["(2 of 5 shown; name a path)"]);
});

t.test("an entry is one line, and not longer than requested", async () => {
  fc.assert(
    fc.property(anyString(), fc.integer({ min: 1, max: 50 }), (text, units) => {
      const line = oneLine(text, units);
      const [first = ""] = beginning(text, units).split("\n(cut off");
      return !/[\r\n]/.test(line) && line.length <= units + 1 && first.length <= units;
    }),
    fuzz(t, "lines of answers", 200),
  );
});

t.test("a symbol is found as a word, or not at all", async (t) => {
  t.equal(findSymbol("const names = name;", "name"), 14);
  t.equal(findSymbol("greeting.greet()", "greeting.greet"), 9);
  t.equal(findSymbol("a.b?.[c]", "[c]"), 6);
  t.equal(findSymbol("const a = 1", "b"), undefined);
  t.equal(findSymbol("übername name", "name"), 9);
  fc.assert(
    fc.property(
      fc.string({ unit: "grapheme" }),
      fc.string({ unit: "grapheme", minLength: 1 }),
      (before, symbol) => {
        const found = findSymbol(before + symbol, symbol);
        return found !== undefined && found >= 0 && found < (before + symbol).length + 1;
      },
    ),
    fuzz(t, "symbols in lines", 200),
  );
});

t.test("positions are converted in every encoding", async (t) => {
  t.equal(encode("é𝄞x", 3, "utf-8"), 6);
  t.equal(encode("é𝄞x", 3, "utf-32"), 2);
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.string({ unit: "grapheme" }), (before, after) =>
      ["utf-8", "utf-16", "utf-32"].every(
        (encoding) =>
          decode(before + after, encode(before + after, before.length, encoding), encoding) === before.length,
      ),
    ),
    fuzz(t, "positions in lines", 200),
  );
});

t.test("invalid answers of a language server are dropped", async (t) => {
  const range = { start: { line: 1, character: 2 }, end: { line: 1, character: 3 } };
  t.same(
    placesOf([{ uri: "file:///a", range }, { uri: "http://a/b", range }, { uri: "file:///b" }, null, 1]),
    [{ path: "/a", line: 1, character: 2 }],
  );
  t.same(placesOf({ targetUri: "file:///a", targetSelectionRange: range }), [
    { path: "/a", line: 1, character: 2 },
  ]);
  const child = { name: "b", kind: 99, selectionRange: range };
  t.match(symbolsOf([{ name: "a", kind: 5, selectionRange: range, children: [child, {}] }], "/a"), [
    { name: "a", kind: "class", container: [] },
    { name: "b", kind: "symbol", container: ["a"] },
  ]);
  t.equal(hoverText({ contents: ["a", { language: "js", value: "b" }] }), "a\n\nb");
  fc.assert(
    fc.property(fc.anything(), (value) => {
      placesOf(value);
      symbolsOf(value, "/a");
      return typeof hoverText(value) === "string";
    }),
    fuzz(t, "edits of texts", 200),
  );
});
