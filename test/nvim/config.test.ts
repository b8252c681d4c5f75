import t from "tap";
import { startNvim } from "../support/nvim.ts";

t.test("options of setup() are checked", async (t) => {
  const nvim = await startNvim(t);
  /** Returns the problems of options. The options are Lua code. */
  const problems = (options: string) => nvim.lua(`return require("gemini-bridge.config").set(${options})`);
  const get = (name: string) => nvim.lua(`return require("gemini-bridge.config").get().${name}`);

  await t.test("an unknown option is reported with the most similar option", async (t) => {
    t.same(await problems("{ autostrat = true }"), ["unknown option autostrat, did you mean autostart?"]);
    t.same(await problems('{ diff = { layuot = "tab" } }'), [
      "unknown option diff.layuot, did you mean diff.layout?",
    ]);
    t.same(await problems('{ loglevel = "debug" }'), ["unknown option loglevel, did you mean log.level?"]);
  });

  await t.test("an unknown option without a similar one is reported without a suggestion", async (t) => {
    for (const name of ["foo", "terminal.foo", "x"])
      t.same(await problems(`{ ["${name}"] = true }`), [
        `unknown option ${name}, see :help gemini-bridge-options`,
      ]);
    t.same(await problems("{ hots = true }"), ["unknown option hots, did you mean host?"]);
  });

  await t.test("a removed option is reported with what replaces it", async (t) => {
    t.same(await problems("{ server = { grace = 7 }, tools = { trust = true, offered = { 'hover' } } }"), [
      "option server was removed: its limits are constants now",
      "option tools.trust was removed: add extension/read-only.toml of the plugin to `policyPaths` in the settings of Gemini CLI",
    ]);
    t.same(await get("tools.offered"), ["hover"]);
  });

  await t.test("an invalid value of context.share shares nothing", async (t) => {
    t.same(await problems('{ context = { share = "no" } }'), [
      'option context.share must be "ask" or a boolean, not "no": nothing is shared',
    ]);
    t.equal(await get("context.share"), false);
    t.same(await problems("{}"), []);
    t.equal(await get("context.share"), true);
  });

  await t.test("unknown tools are left out and reported", async (t) => {
    t.match(await problems('{ tools = { offered = { "hover", "hovr", "all" } } }'), [
      /^option tools\.offered: unknown hovr, all\. Known: diagnostics, symbols, .*, format$/,
    ]);
    t.same(await get("tools.offered"), ["hover"]);
  });

  await t.test("invalid patterns are reported, and the other patterns apply", async (t) => {
    const message = (option: string, pattern: string) =>
      `option ${option}: invalid pattern ${pattern}. Write a backslash before a single "[", "{" or "}"`;
    t.same(
      await problems(
        String.raw`{ context = { exclude = { "*.{a", "[z-a]*", "nul\0*", "*.key", "[plain]", "a}b", "*.{c,d}" } } }`,
      ),
      ['"*.{a"', '"[z-a]*"', String.raw`"nul\0*"`].map((one) => message("context.exclude", one)),
    );
    t.same(
      await nvim.lua(
        `local patterns, list = require("gemini-bridge.config.patterns"), ...
        return vim.tbl_map(function(name) return patterns.match(list, name) end, { "a/b.key", "p", "b.txt", "b.d" })`,
        await get("context.exclude"),
      ),
      [true, true, false, true],
    );
  });

  await t.test("an unknown CLI in the option gate is reported", async (t) => {
    t.same(await problems("{ gate = { claud = true, gemini = true } }"), ["option gate: unknown CLI claud"]);
    t.same(await problems('{ gate = { own = true }, clis = { own = { like = "gemini" } } }'), []);
    t.same(await problems("{ clis = { claud = false, qwen = false } }"), [
      "option clis.claud is not a known CLI",
    ]);
  });

  await t.test("an invalid value is reported with the option's name and the expected value", async (t) => {
    t.same(await problems('{ diff = { layout = "sideways" } }'), [
      'option diff.layout must be "auto", "vertical", "horizontal", "tab", "inline", not "sideways"',
    ]);
    t.same(await problems("{ autostart = 1 }"), ['option autostart must be "idle" or a boolean, not 1']);
    t.same(await problems("{ log = 7 }"), ["option log must be a table"]);
    t.same(await problems('"all"'), ["setup() takes a table"]);
  });

  await t.test("valid options apply beside invalid ones", async (t) => {
    t.same(await problems('{ autostart = 1, nodee = "x", diff = { layout = "tab" } }'), [
      'option autostart must be "idle" or a boolean, not 1',
      "unknown option nodee, did you mean node?",
    ]);
    t.equal(await get("autostart"), false);
    t.equal(await get("diff.layout"), "tab");
    t.same(await problems('{ ["keys.accept"] = "ga", ["log.level"] = "warn" }'), [], "dotted names");
    t.same([await get("keys.accept"), await get("log.level")], ["ga", "warn"]);
  });

  await t.test("setup() reports invalid options in a message", async (t) => {
    await nvim.lua('require("gemini-bridge").setup({ hots = "shared", log = { level = "debug" } })');
    t.match(await nvim.messages(), /unknown option hots, did you mean host\?/);
    t.equal(await get("log.level"), "debug");
  });

  await t.test("the default options apply without setup()", async (t) => {
    const fresh = await startNvim(t);
    t.equal(await fresh.lua('return require("gemini-bridge.config").get().diff.layout'), "auto");
  });

  await t.test("setup() without options loads no module and resets earlier options", async (t) => {
    const fresh = await startNvim(t);
    const loaded = () =>
      fresh.lua(`return vim.tbl_filter(function(name) return vim.startswith(name, "gemini-bridge") end,
        vim.tbl_keys(package.loaded))`);
    t.same(await loaded(), [], "by the plugin itself");
    await fresh.lua('require("gemini-bridge").setup() require("gemini-bridge").setup({})');
    t.same(await loaded(), ["gemini-bridge"]);
    for (const options of ["", "{}"]) {
      await fresh.lua('require("gemini-bridge").setup({ log = { level = "debug" } })');
      await fresh.lua(`require("gemini-bridge").setup(${options})`);
      t.equal(await fresh.lua('return require("gemini-bridge.config").get().log.level'), "info");
    }
    await fresh.lua('require("gemini-bridge").setup("all")');
    t.match(await fresh.messages(), "setup() takes a table");
  });
});
