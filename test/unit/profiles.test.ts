/** Tests the discovery files and settings of each CLI. */
import { existsSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import t from "tap";
import { z } from "zod";
import { createLog } from "../../src/base/log.ts";
import { createAnnouncements } from "../../src/discovery/announcements.ts";
import { createDiscoveryFile } from "../../src/discovery/file.ts";
import { cleanUpDiscovery } from "../../src/discovery/remove-leftovers-at-start.ts";
import { readFileName } from "../../src/profiles/discovery-paths.ts";
import { readSettings, setting } from "../../src/profiles/settings.ts";
import { read, startProfiles } from "../support/profiles.ts";
import { announcement } from "../support/temporary.ts";

t.test("each CLI gets its discovery file in its own directory and format", async (t) => {
  const { home, find } = startProfiles(t, [
    { name: "ola", like: "qwen", cmd: ["ola"], directory: "~/.ola/ide", env: "OLA_CODE_IDE_" },
  ]);
  const content = { port: 22, workspacePath: "/a:/b", authToken: "secret" };
  const ideInfo = { name: "neovim", displayName: "Neovim (a)" };
  const lock = { ...content, ppid: 12, ideName: "Neovim (a)", ideInfo };
  for (const [name, path, expected] of [
    ["gemini", "gemini/ide/gemini-ide-server-11-22.json", { ...content, ideInfo }],
    ["qwen", ".qwen/ide/22.lock", lock],
    ["ola", ".ola/ide/22.lock", lock],
    ["llxprt", "llxprt/ide/llxprt-ide-server-11-22.json", { ...content, ideInfo }],
  ] as const) {
    const file = createDiscoveryFile(find(name), { pid: 11, editorPid: 12, port: 22, authToken: "secret" });
    t.equal(file.path, join(home, path));
    file.write(["/a", "/b"]);
    t.same(read(file.path), expected, name);
    t.equal(statSync(file.path).mode & 0o777, 0o600);
    file.remove();
    t.notOk(existsSync(file.path));
  }
});

t.test("editors in one folder have different names in the list of a CLI", (t) => {
  const { profiles, find } = startProfiles(t, [{ name: "claude", like: "claude", cmd: ["claude"] }]);
  for (const profile of profiles) {
    const write = (editorPid: number, port: number, folder: string) => {
      const file = createDiscoveryFile(profile, { pid: editorPid, editorPid, port, authToken: "secret" });
      file.write([folder, "/repository"]);
      t.teardown(file.remove);
      const { ideName, ideInfo } = read(file.path);
      if (profile.content !== "plain") t.equal(ideName, ideInfo.displayName);
      return String(ideInfo.displayName);
    };
    t.equal(write(process.pid, 1, "/p/app"), "Neovim (app)", profile.name);
    t.equal(write(process.ppid, 2, "/q/app"), `Neovim (app, ${process.ppid})`);
    t.equal(write(process.ppid, 2, "/q/other"), "Neovim (other)", "after :cd");
    t.equal(write(1, 3, "/\u001b[2Jx"), "Neovim (?[2Jx)");
    t.equal(write(process.pid, 1, "/"), "Neovim");
    t.equal(write(process.ppid, 2, "/"), `Neovim (${process.ppid})`);
    t.equal(write(4_194_300, 4, "/p/gone"), "Neovim (gone)");
    t.equal(write(1, 3, "/p/gone"), "Neovim (gone)", "the other editor has ended");
  }
  t.ok(find("claude"));
  t.end();
});

t.test("the settings of each CLI are read with the keys of that CLI", async (t) => {
  const { home, find } = startProfiles(t, [
    { name: "ola", like: "qwen", cmd: ["ola"], directory: "~/.ola/ide", env: "OLA_CODE_IDE_" },
    { name: "nightly", like: "llxprt", cmd: ["nightly"], settings: "~/.nightly/config.json" },
  ]);
  const cwd = join(home, "project");
  const put = (path: string, text: string) => {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), text);
  };
  const ide = (name: string) => {
    const { settings, defaults } = find(name);
    const files = readSettings({ settings, defaults }, { HOME: home }, cwd);
    const said = setting(files, settings.ide, z.boolean());
    return [said && [said.value, relative(home, said.path)], files.flatMap(({ problem = [] }) => problem)];
  };
  for (const [name, path, text] of [
    ["gemini", ".gemini/settings.json", '{ "ide": { "enabled": true } }'],
    ["qwen", ".qwen/settings.json", '{ "ide": { "enabled": true } } // on'],
    ["llxprt", ".llxprt/settings.json", '{ "ui": { "ideMode": true } }'],
    ["llxprt", ".config/llxprt-code/settings.json", '{ "ui": { "ideMode": true } }'],
    ["ola", ".ola/settings.json", '{ "ide": { "enabled": true } }'],
    ["nightly", ".nightly/config.json", '{ "ui": { "ideMode": true } }'],
  ] as const) {
    put(path, text);
    t.same(ide(name), [[true, path], []], path);
  }
  put("project/.ola/settings.json", '{ "ide": { "enabled": false } }');
  t.same(ide("ola"), [[false, "project/.ola/settings.json"], []], "a project's comes first");
  for (const [text, broken] of [
    ["[1]", ["is not a JSON object"]],
    ["{", ["is not a JSON object"]],
    ['{ "ide": 7 }', []],
    ['{ "ide": { "enabled": "yes" } }', []],
    ['{ "__proto__": { "enabled": true } }', []],
  ] as const) {
    put(".qwen/settings.json", text);
    t.same(ide("qwen"), [undefined, broken], text);
  }
});

t.test("a directory with a colon is announced only to CLIs that support it", async (t) => {
  const { home, profiles } = startProfiles(t);
  const all = createAnnouncements({
    profiles,
    announcement: () => announcement(1, 2),
    log: createLog(),
    failed: (_, error) => {
      throw error;
    },
  });
  t.teardown(all.remove);
  all.publish(["/a:b", "/c"]);
  t.equal(read(join(home, ".qwen/ide/2.lock")).workspacePath, '["/a:b","/c"]');
  t.equal(read(join(home, "gemini/ide/gemini-ide-server-1-2.json")).workspacePath, "/c");
  const { set, unset } = all.variables(["/a:b"]);
  t.match(set, {
    QWEN_CODE_IDE_SERVER_PORT: "2",
    QWEN_CODE_IDE_WORKSPACE_PATH: '["/a:b"]',
    GEMINI_CLI_IDE_WORKSPACE_PATH: "",
    LLXPRT_CODE_IDE_AUTH_TOKEN: "the-secret-token",
  });
  t.ok(unset.includes("QWEN_CODE_IDE_SERVER_STDIO_ARGS"));
});

t.test("only lock files of a dead Neovim are removed", async (t) => {
  const { home, qwen } = startProfiles(t);
  const directory = join(home, ".qwen/ide");
  mkdirSync(directory, { recursive: true });
  const dead = 2 ** 22 + 1;
  const ours = { ppid: dead, ideInfo: { name: "neovim" } };
  const files = {
    "1.lock": ours,
    ".1.lock.tmp": {},
    "2.lock": { ...ours, ppid: process.pid },
    "3.lock": { ...ours, ideInfo: { name: "vscode" } },
    "4.lock.bak": ours,
    "5.lock": [],
  };
  const old = new Date(Date.now() - 3_600_000);
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(directory, name), JSON.stringify(content));
    utimesSync(join(directory, name), old, old);
  }
  // The process was started after the file was written, so the process has only reused the id. With a new date, the
  // file would count as the file of a running editor.
  utimesSync(join(directory, "2.lock"), new Date(), new Date());
  await cleanUpDiscovery(qwen);
  t.same(readdirSync(directory).sort(), ["2.lock", "3.lock", "4.lock.bak", "5.lock"]);
});

t.test("parsing the name of a discovery file is the reverse of formatting it", async (t) => {
  const { find, qwen } = startProfiles(t);
  t.same(readFileName(find("gemini"), "gemini-ide-server-1-22.json"), { pid: 1, port: 22 });
  t.match(readFileName(qwen, "22.lock"), { port: 22 });
  for (const name of ["22xlock", "a22.lock", "22.lock.tmp", "-1.lock", ""])
    t.equal(readFileName(qwen, name), undefined, name);
});
