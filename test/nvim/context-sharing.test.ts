import { symlinkSync, writeFileSync } from "node:fs";
import t from "tap";
import { startContext } from "../support/context.ts";
import { shareNvim } from "../support/reset.ts";

shareNvim(t);

/** Names of files that the default of `context.exclude` excludes. */
const SECRET = [
  ".env",
  ".env.local",
  "prod.env",
  ".netrc",
  ".npmrc",
  ".pypirc",
  ".git-credentials",
  ".pgpass",
  "home/.aws/credentials",
  "home/.ssh/config",
  "main.tfvars",
  "main.tfstate",
  "server.pem",
  "id_rsa.old",
  "id_dsa.old",
  "id_ecdsa_sk",
  "id_ed25519",
];

const files = {
  "a.txt": "a\n",
  ...Object.fromEntries(SECRET.map((name) => [name, "secret\n"])),
  "private/notes.txt": "secret\n",
  "sub/hidden.txt": "secret\n",
  "sub/seen.txt": "seen\n",
};

t.test("neither path nor text of an excluded file is sent", async (t) => {
  const { host, nvim } = await startContext(t, { files, args: ["a.txt"] });
  for (const name of SECRET) {
    await nvim.command(`edit ${name}`);
    await nvim.input("V");
    await host.until(t, () => host.context.shared().excluded, nvim.path(name), `${name} is kept back`);
    await nvim.input("<Esc>");
    t.same(host.paths(), ["a.txt"]);
    t.equal(host.active(), undefined, "and no other is active instead");
  }
  t.notMatch(JSON.stringify(host.contexts), /secret|\.env|id_|\.pem/);
  await nvim.command("edit a.txt");
  await host.until(t, () => host.active()?.path, nvim.path("a.txt"), "back in a file to share");
  t.equal(host.context.shared().excluded, undefined);
});

t.test("a link to an excluded file is excluded", async (t) => {
  const { host } = await startContext(t, { files, args: ["a.txt"] });
  symlinkSync(".env", host.nvim.path("harmless.txt"));
  await host.nvim.command("edit harmless.txt");
  await host.until(t, () => host.context.shared().excluded, host.nvim.path("harmless.txt"), "kept back");
  t.same(host.paths(), ["a.txt"]);
});

t.test("the option context.exclude replaces the patterns", async (t) => {
  const init =
    "require('gemini-bridge').setup({ context = { exclude = { 'private/*', '!private/keep.txt', '*.lock' } } })";
  const { host } = await startContext(t, {
    files: { ...files, "x.lock": "x\n", "deep/private/p.txt": "p\n", "private/keep.txt": "k\n" },
    args: ["a.txt", ".env", "private/notes.txt", "x.lock", "deep/private/p.txt", "private/keep.txt"],
    init,
  });
  await host.until(t, () => host.paths(), ["a.txt", ".env", "private/keep.txt"], "the list");
});

t.test("braces in context.exclude list alternatives", async (t) => {
  const exclude = String.raw`{ '*.{lock,p{1,2}}', '!{x,y}.p1', '{}', '{{z}}*', '[{]a*', [[\{a,b\}*]] }`;
  const names = ["a.lock", "x.p1", "z.p1", "z.p2", "{a,b}.txt", "{{z}}.txt", "{a.txt", "z.txt", "b.txt"];
  const { host } = await startContext(t, {
    files: { ...files, ...Object.fromEntries(names.map((name) => [name, "text\n"])) },
    args: ["a.txt", ...names],
    init: `require('gemini-bridge').setup({ context = { exclude = ${exclude} } })`,
  });
  await host.until(t, () => host.paths(), ["a.txt", "x.p1", "z.txt", "b.txt"], "the list");
});

t.test("a .geminiignore in the workspace excludes files", async (t) => {
  const { host, nvim } = await startContext(t, {
    files: { ...files, ".geminiignore": "private/\nsub/*\n!sub/seen.txt\n" },
    args: ["a.txt", "private/notes.txt", "sub/hidden.txt", "sub/seen.txt"],
  });
  await host.until(t, () => host.paths(), ["a.txt", "sub/seen.txt"], "the list");
  writeFileSync(nvim.path(".geminiignore"), "a.txt\n");
  await nvim.input("l");
  await host.until(
    t,
    () => host.paths(),
    ["private/notes.txt", "sub/hidden.txt", "sub/seen.txt"],
    "a new list",
  );
  writeFileSync(nvim.path("sub/.geminiignore"), "*.txt\n");
  await host.until(t, () => host.paths(), ["private/notes.txt"], "one in a folder below");
  writeFileSync(nvim.path(".qwenignore"), "private/\n");
  writeFileSync(nvim.path("sub/.llxprtignore"), "!*.txt\n");
  await host.until(t, () => host.paths(), [], "one of another CLI");
});

t.test(":GeminiShare off pauses sharing, and on resumes it", async (t) => {
  const { host, nvim } = await startContext(t, { files, args: ["a.txt"] });
  await nvim.command("GeminiShare off");
  t.match(
    await nvim.messages(),
    "Sharing is paused: CLIs and models get no data from Neovim until you run :GeminiShare on.",
  );
  await host.until(
    t,
    () => host.contexts.at(-1)?.value,
    { workspaceState: { openFiles: [] } },
    "nothing is left",
  );
  const before = host.snapshots.length;
  for (const command of ["edit sub/seen.txt", "normal! Vy", "edit a.txt"]) await nvim.command(command);
  await host.subscribe();
  await nvim.waitFor(() => host.snapshots.length > before, "the snapshot for another CLI");
  t.equal(host.snapshots.length, before + 1);
  t.match(host.snapshots.at(-1)?.value, {
    buffers: [],
    focus: [],
    active: undefined,
    sharing: { paused: true },
  });
  t.equal(await nvim.lua("return require('gemini-bridge').shared().paused"), true);
  await nvim.command("GeminiShare on");
  t.match(await nvim.messages(), "Sharing is on: CLIs and models get data from Neovim.");
  await host.until(t, () => host.paths(), ["a.txt", "sub/seen.txt"], "resumed, with what happened meanwhile");
  await nvim.command("silent! GeminiShare perhaps");
  t.match(await nvim.messages(), "Usage: :GeminiShare [on|off]");
});

t.test("trust is sent only if the option is set", async (t) => {
  const told = async (trust: string) => {
    const init = `require('gemini-bridge').setup({ trust = ${trust} })`;
    const { host } = await startContext(t, { files, args: ["a.txt"], init });
    await host.until(t, () => host.paths(), ["a.txt"], "the context");
    return host;
  };
  const value = (host: Awaited<ReturnType<typeof told>>) => host.context.current().workspaceState?.isTrusted;
  t.equal(value(await told("nil")), undefined);
  t.equal(value(await told("true")), true);
  t.equal(value(await told("false")), false);
  t.equal(value(await told("function() end")), undefined);
  const host = await told("function(roots) return #roots == 1 end");
  t.equal(value(host), true);
  await host.nvim.command("lcd sub");
  await host.until(t, () => value(host), false, "it follows the directories");
  await host.nvim.lua("require('gemini-bridge').setup({ trust = true })");
  await host.until(t, () => value(host), true, "and the option");
});
