/** Tests that messages of any shape between Lua and Node are refused or dropped without other effects. */
import fc from "fast-check";
import t from "tap";
import { startBridge } from "../support/bridge.ts";
import { fuzz } from "../support/fuzz.ts";
import { startNvim } from "../support/nvim.ts";

const EVENTS =
  "stop workspace context diff_accepted diff_rejected original_changed none __proto__ toString".split(" ");
const CALLS = [
  ..."attach status set_environment message context_subscribe context_unsubscribe".split(" "),
  ..."remember decision_settled diff_open diff_close none __index".split(" "),
];

const key = fc.oneof(
  fc.constantFrom(
    ..."id filePath newContent content client reason channel pid state workspace clients set unset level text".split(
      " ",
    ),
    ..."events debounce maxWait maxSelection sessions diffs delivered directories buffers focus active more".split(
      " ",
    ),
  ),
  fc.string({ maxLength: 5 }),
);

/** Generates values that msgpack can encode and decode. */
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(null, true, false, "", 0, -1, 1.5, 2 ** 40, -(2 ** 31)),
    fc.string({ unit: "grapheme", maxLength: 20 }),
    fc.integer(),
    fc.array(tie("any"), { maxLength: 4 }),
    fc.dictionary(key, tie("any"), { maxKeys: 5 }),
  ),
})).any;

/** Recognizes valid events, which the host would carry out. */
const isStop = (name: unknown) => name === "stop";

t.test("the host drops invalid events from Lua", { timeout: 3_600_000 }, async (t) => {
  const { bridge, nvim } = await startBridge(t, { breaksContract: true });
  const host = await bridge.host();
  const client = await bridge.client();
  const name = fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(...EVENTS) },
    { weight: 1, arbitrary: value },
  );
  const list = fc.array(
    fc.tuple(
      name.filter((one) => !isStop(one)),
      value,
    ),
    { minLength: 1, maxLength: 20 },
  );
  const channel = await nvim.lua(
    "for _, c in ipairs(vim.api.nvim_list_chans()) do if c.stream == 'job' then return c.id end end",
  );
  const property = fc.asyncProperty(list, async (events) => {
    await nvim.lua(
      "for _, e in ipairs(select(2, ...)) do vim.rpcnotify(..., 'gemini_bridge', e[1], e[2]) end",
      channel,
      events,
    );
    // The answer arrives after all earlier messages on this channel.
    await client.mcp.ping();
    if ((await bridge.host()) !== host) throw new Error("the host has ended");
  });
  await fc.assert(property, fuzz(t, "events from Lua, up to twenty in a case", 60));
  await nvim.bridgeIs("running");
  t.equal(await bridge.host(), host);
  t.same(await client.openDiff(nvim.path("a.txt"), "still serving\n"), { content: [] });
  t.notMatch(await nvim.messages(), /has crashed|stack traceback|E5108/);
});

t.test("Lua refuses invalid calls from Node", { timeout: 3_600_000 }, async (t) => {
  const nvim = await startNvim(t, {
    breaksContract: true,
    init: `
      function _G.fuzzed(name, params)
        local answer = require('gemini-bridge.calls').call(name, params)
        assert(type(answer) == 'table' and (answer.error == nil or type(answer.error) == 'string'))
        return answer.error or ''
      end`,
  });
  const windows = await nvim.lua("return vim.api.nvim_list_wins()");
  const name = fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...CALLS) }, { weight: 1, arbitrary: value });
  const list = fc.array(fc.tuple(name, value), { minLength: 1, maxLength: 20 });
  const property = fc.asyncProperty(list, async (calls) => {
    const errors = await nvim.lua(
      "return vim.tbl_map(function(c) return _G.fuzzed(c[1], c[2]) end, ...)",
      calls,
    );
    for (const error of Array.isArray(errors) ? errors : []) {
      if (/stack traceback|\.lua:\d+/.test(String(error))) throw new Error(String(error));
    }
  });
  await fc.assert(property, fuzz(t, "calls from Node, up to twenty in a case", 60));
  t.notMatch(await nvim.messages(), /stack traceback|E5108/);
  t.same(await nvim.lua("return vim.api.nvim_list_wins()"), windows);
  t.equal(await nvim.lua("return vim.api.nvim_get_mode().blocking"), false);
});
