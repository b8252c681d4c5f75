/** Tests that the user reviews edits of the model's tools first while the gate is on. */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import t from "tap";
import { startBridge } from "../support/bridge.ts";
import { connectEditorClient, languageServer } from "../support/editor-client.ts";

const FILES = {
  "greet.js": "function greet(name) {\n  return name;   \n}\n",
  "main.js": "\uFEFFgreet('Ada');\r\nconst x = BAD;\r\n",
  "other.js": "greet('Bob');",
  "old.js": Buffer.from("greet('J\xfcrg');\n", "latin1"),
};
const ALL = ["greet.js", "main.js", "other.js"] as const;
const rename = { path: "main.js", line: 1, symbol: "greet", new_name: "welcome" };

t.test("with the gate on, the user reviews edits of tools", async (t) => {
  const { "old.js": old, ...files } = FILES;
  const init = `vim.fn.mkdir(vim.env.HOME .. "/.qwen")\n${languageServer()}`; // as if Qwen Code were installed
  const { bridge, nvim } = await startBridge(t, { files, args: ["main.js"], init });
  const client = await connectEditorClient(t, bridge);
  const { text } = client;
  const onDisk = (name: string) => readFileSync(nvim.path(name), "utf8");
  const pending = async () => (await bridge.status()).diffs.map(({ filePath }) => filePath);
  const waitForReviews = (count: number) =>
    nvim.waitFor(async () => (await pending()).length === count, `${count} reviews`);
  const written = (name: string, content: string) =>
    nvim.waitFor(() => onDisk(name) === content, `${name} to be written`);
  const renamed = (name: (typeof ALL)[number]) => files[name].replace("greet", "welcome");
  await nvim.command("GeminiGate on");

  await t.test("a rename opens a review for each file, and each decision applies", async (t) => {
    const answer = client.call("rename", rename);
    await waitForReviews(3);
    for (const name of ALL) t.equal(onDisk(name), files[name], "nothing is written before");
    await nvim.command("GeminiAccept main.js");
    await nvim.command("GeminiReject greet.js");
    await waitForReviews(1);
    await nvim.command("GeminiReview");
    await nvim.input("GA // mine<Esc>:GeminiAccept<CR>");
    const { content, structuredContent, isError } = await answer;
    t.notOk(isError);
    const [said] = content;
    t.match(
      said?.type === "text" && said.text,
      /^Changed and written: 2 of 3 files\. Neovim writes a file only after the user has accepted the edit\.\n/,
    );
    t.match(said?.type === "text" && said.text, "greet.js: rejected: leave the file as it is");
    const { files: told } = structuredContent as { files: { path: string; outcome: string }[] };
    t.same(
      told.sort((a, b) => (a.path < b.path ? -1 : 1)),
      [
        { path: "greet.js", outcome: "rejected" },
        { path: "main.js", outcome: "accepted" },
        { path: "other.js", outcome: "edited" },
      ],
    );
    t.equal(onDisk("main.js"), renamed("main.js"), "byte order mark and line ends stay");
    t.equal(onDisk("other.js"), `${renamed("other.js")} // mine`, "no final line break is added");
    t.equal(onDisk("greet.js"), files["greet.js"]);
    t.same(await nvim.lua("return require('gemini-bridge').changes()"), [], "what was reviewed is no change");
  });

  await t.test(
    "a second call of a tool replaces the text of a review, and the first call reports that no decision was made",
    async (t) => {
      for (const name of ALL) writeFileSync(nvim.path(name), files[name]);
      await text("diagnostics", { path: "greet.js", settle: true });
      const first = text("format", { path: "greet.js" });
      await waitForReviews(1);
      const second = text("format", { path: "greet.js" });
      t.match(await first, "greet.js: not decided: a later call proposes something else");
      await nvim.command("GeminiAccept");
      t.match(
        await second,
        "Changed and written: 1 of 1 file. Neovim writes a file only after the user has accepted the edit.\ngreet.js: accepted",
      );
      t.equal(onDisk("greet.js"), files["greet.js"].replace("   \n", "\n"));
    },
  );

  await t.test(
    "another CLI's call opens a review of its own, and each call gets its own outcome",
    async (t) => {
      for (const name of ALL) writeFileSync(nvim.path(name), files[name]);
      await text("diagnostics", { path: "greet.js", settle: true });
      const authToken = String(await nvim.lua("return vim.env.QWEN_CODE_IDE_AUTH_TOKEN"));
      const file = bridge.file();
      const ofQwen = { ...file, content: { ...file.content, authToken } };
      const qwen = await connectEditorClient(t, { file: () => ofQwen });
      const first = text("format", { path: "greet.js" });
      await waitForReviews(1);
      const second = qwen.text("format", { path: "greet.js" });
      await waitForReviews(2);
      t.same(
        (await bridge.status()).diffs.map(({ client }) => client),
        ["Gemini CLI", "Qwen Code"],
      );
      await nvim.lua("vim.ui.select = function(items, _, choose) choose(items[1]) end");
      await nvim.command("GeminiReject greet.js");
      t.match(await first, "greet.js: rejected");
      await nvim.command("GeminiAccept greet.js");
      t.match(await second, "greet.js: accepted");
      t.equal(onDisk("greet.js"), files["greet.js"].replace("   \n", "\n"));
      await qwen.mcp.close();
    },
  );

  await t.test(
    "a review of a tool stays open after a crash of the host, and the accepted text is written",
    async () => {
      await text("diagnostics", { path: "main.js", settle: true });
      const listed = await text("code_actions", { path: "main.js", line: 2 });
      const interrupted = client
        .call("apply_code_action", { id: Number(/^(\d+):/m.exec(listed)?.[1]) })
        .catch(() => {});
      await waitForReviews(1);
      await bridge.replaceHost();
      await waitForReviews(1);
      await nvim.command("GeminiAccept");
      await written("main.js", files["main.js"].replace("BAD", "GOOD"));
      void interrupted;
    },
  );

  await t.test("a file that has changed after the acceptance is not overwritten", async (t) => {
    for (const change of [
      () => writeFileSync(nvim.path("greet.js"), "newer\n"),
      () => rmSync(nvim.path("greet.js")),
    ]) {
      writeFileSync(nvim.path("greet.js"), files["greet.js"]);
      await text("diagnostics", { path: "greet.js", settle: true });
      const answer = text("format", { path: "greet.js" });
      await waitForReviews(1);
      const host = await bridge.host();
      process.kill(host, "SIGSTOP");
      await nvim.command("GeminiAccept");
      change();
      process.kill(host, "SIGCONT");
      t.match(await answer, "greet.js: accepted, but the file could not be written");
      t.not(
        existsSync(nvim.path("greet.js")) && onDisk("greet.js"),
        files["greet.js"].replace("   \n", "\n"),
      );
      await nvim.says(
        /greet\.js was not written, because it has changed since you accepted.*Open the accepted text of greet\.js with :edit gemini:/s,
      );
      await nvim.command("messages clear");
    }
    writeFileSync(nvim.path("greet.js"), files["greet.js"]);
  });

  await t.test("a tool's edit of a file that cannot be reviewed byte for byte is refused", async (t) => {
    writeFileSync(nvim.path("old.js"), old);
    t.match(await client.refusal("rename", { ...rename, path: "other.js" }), "old.js is not UTF-8");
    t.same(await pending(), [], "and no other file is shown");
  });
});
