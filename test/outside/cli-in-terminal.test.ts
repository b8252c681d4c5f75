/** Tests the real CLI in a terminal of `:Gemini`. */
import t, { type Test } from "tap";
import { geminiIn, startWithGemini } from "../support/gemini.ts";
import { descendants, isAlive } from "../support/processes.ts";
import { waitFor } from "../support/wait.ts";

const start = (t: Test) =>
  startWithGemini(t, {
    env: { GEMINI_CLI_NO_RELAUNCH: "" }, // as for users, the CLI starts a second process of itself
    files: {
      "greet.js": "const greeting = 'Hello';\nconsole.log(greeting);\n",
      "a b,c/odd (name).txt": "odd content\n",
    },
  });

t.test(":Gemini runs the real CLI, which connects", async (t) => {
  const { nvim, model } = await start(t);
  await nvim.command("edit greet.js");
  await nvim.input(":Gemini<CR>");
  const gemini = await geminiIn(nvim);

  await t.test("the real CLI connects", async (t) => {
    await gemini.waitForScreen(/Type your message/, 20_000);
    await t.resolves(
      nvim.waitFor(
        async () => /Connected to Neovim/.test(await gemini.slash("/ide status")),
        "it to connect",
      ),
    );
    t.notMatch(await nvim.messages(), /ide enable/, "nothing to remind of");
    t.match(
      await nvim.lua("return table.concat(require('gemini-bridge.report.status_view').lines(), '\\n')"),
      /Clients {5}Gemini CLI \d+\.\d+\.\d+, connected for \d+ s/,
      ":GeminiStatus knows it",
    );
  });

  await t.test("a prompt of :GeminiSend is typed into the real CLI without Enter", async (t) => {
    await nvim.input("<C-\\><C-n><C-w>p");
    await nvim.input(":1,2GeminiSend explain this<CR>");
    await gemini.waitForScreen(/@greet\.js \(lines 1-2\) explain this/);
    t.equal(await nvim.lua("return vim.fn.expand('%:t')"), "greet.js", "the focus stays");
    t.equal(model.requests.filter(({ action }) => action === "streamGenerateContent").length, 0);
  });

  await t.test(
    "with :GeminiSend!, the prompt is sent, and the real CLI reads files with unusual names",
    async (t) => {
      model.say([{ text: "Understood." }]);
      await nvim.input(":GeminiAdd a\\ b,c/odd\\ (name).txt<CR>");
      await nvim.waitFor(
        async () => (await gemini.screen()).join("").replace(/\s/g, "").includes("odd\\\\(name\\).txt"),
        "the reference in the prompt, which wraps",
      );
      await nvim.input(":GeminiSend! --text and this<CR>");
      await gemini.waitForScreen(/Understood\./, 15_000);
      const prompt = model.promptText();
      t.match(prompt, /\(lines 1-2\) explain this/);
      t.match(prompt, /const greeting = 'Hello';/, "the file that was referred to");
      t.match(prompt, /odd content/, "the file with the odd name");
      t.match(prompt, /and this/);
    },
  );

  await t.test("a long prompt is sent to the real CLI completely", async (t) => {
    model.say([{ text: "That was long." }]);
    await nvim.lua(
      "require('gemini-bridge').send({ text = ..., submit = true })",
      `${"many words ".repeat(80)}\n\n\n\n\n\nthe end`,
    );
    await gemini.waitForScreen(/That was long\./, 15_000);
    t.match(model.promptText(), /many words many words[\s\S]*the end/);
    t.match(model.promptText(), /const greeting = 'Hello';/);
  });

  await t.test("if the real CLI treats Enter as a line break, Enter is pressed again", async (t) => {
    model.say([{ text: "Good morning." }]);
    // Presses the first Enter while the CLI still waits for the rest of a paste, as on a busy machine.
    await nvim.lua(`
      local send, first = vim.fn.chansend, true
      vim.fn.chansend = function(channel, keys)
        if keys ~= "\\r" or not first then return send(channel, keys) end
        first = false
        send(channel, "\\27[200~ \\27[201~")
        return vim.defer_fn(function() send(channel, keys) end, 25)
      end`);
    await nvim.input(":GeminiSend! hello<CR>");
    await gemini.waitForScreen(/Good morning\./, 30_000);
    t.match(model.promptText(), /@greet\.js hello/);
    t.notMatch(await nvim.messages(), /typed but not sent/);
  });

  await t.test("no process of the real CLI is left after :qa", async (t) => {
    const pids = [gemini.place.shell, ...descendants(gemini.place.shell)];
    t.ok(pids.length > 1, "the CLI has a child");
    t.ok(pids.every(isAlive));
    nvim.nvim.notify("nvim_command", ["qa"]);
    t.same(await nvim.exited, { code: 0, signal: null });
    t.notOk(pids.some(isAlive), "no process");
  });
});

t.test("a prompt starts the real CLI and waits until the CLI accepts input", async (t) => {
  const { nvim, model } = await start(t);
  model.say([{ text: "Good morning." }]);
  await nvim.command("edit greet.js");
  await nvim.input(":GeminiSend! hello<CR>");
  const gemini = await geminiIn(nvim);
  await gemini.waitForScreen(/Good morning\./, 30_000);
  t.match(model.promptText(), /@greet\.js hello/);
  t.equal(await nvim.lua("return vim.fn.expand('%:t')"), "greet.js", "the focus stays");

  const pids = [gemini.place.shell, ...descendants(gemini.place.shell)];
  await nvim.command(`bwipeout! ${gemini.place.buf}`);
  await nvim.waitFor(() => !pids.some(isAlive), "the CLI to end");
});

t.test("killing Neovim ends the real CLI", async (t) => {
  const { nvim } = await start(t);
  await nvim.command("Gemini");
  const gemini = await geminiIn(nvim);
  await gemini.waitForScreen(/Type your message/, 20_000);
  const pids = [gemini.place.shell, ...descendants(gemini.place.shell)];
  nvim.kill("SIGKILL");
  await nvim.exited;
  await t.resolves(waitFor(() => !pids.some(isAlive), "the CLI to end"));
});
