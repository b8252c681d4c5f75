/** Tests the doctor in a shell outside Neovim. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { z } from "zod";
import { readDiscovery } from "../support/client.ts";
import { PROGRAM, runDoctor, startClient } from "../support/doctor.ts";
import { type Nvim, startNvim } from "../support/nvim.ts";
import { makeEnv, writeFiles } from "../support/sandbox.ts";

/** Starts a Node process that looks like a CLI in the output of `ps`. */
async function startLookalike(t: Test, nvim: Nvim): Promise<number | undefined> {
  writeFiles(nvim.dirs.home, { "bin/gemini": "setInterval(() => {}, 60_000); process.stdout.write('up');" });
  const program = spawn(process.execPath, [join(nvim.dirs.home, "bin/gemini"), "--model", "x".repeat(1000)]);
  t.teardown(() => program.kill("SIGKILL"));
  await once(program.stdout, "data");
  return program.pid;
}

t.test("the doctor works in a shell outside Neovim", async (t) => {
  const nvim = await startNvim(t, { files: { "a.txt": "" }, env: { REMOTE_CONTAINERS: "true" } });
  writeFiles(nvim.dirs.home, { ".gemini/settings.json": '{ "ide": { "enabled": true } }' });

  await t.test("without a running bridge, the doctor says how to start a bridge", async (t) => {
    const { code, sections } = await runDoctor(nvim, []);
    t.equal(code, 1);
    t.match(sections["Editors"], `No editor has a discovery file in ${nvim.dirs.tmp} -> run :GeminiStart`);
    t.match(sections["A CLI started here"], /ERROR +The CLI finds no editor in \S+ -> run :GeminiStart/);
  });

  await nvim.startBridge();
  const [own] = readDiscovery(nvim.dirs.tmp);
  const editor = `Neovim (workspace), process ${own?.pid}, port ${own?.port}`;

  await t.test("the doctor in a shell finds a Neovim", async (t) => {
    const { code, sections } = await runDoctor(nvim, []);
    t.equal(code, 0, "no error");
    t.match(sections["Installation"], `Node ${process.versions.node}`);
    t.match(sections["Editors"], `ok      ${editor}: the editor answers`);
    t.match(sections["A CLI started here"], `ok      The CLI chooses ${editor}`);
    t.match(
      sections["A CLI started here"],
      `ok      The directory of the CLI, ${nvim.dirs.workspace}, is in the workspace`,
    );
    t.match(sections["A CLI started here"], /ok +IDE mode is on in /);
  });

  await t.test("control characters in the name of a directory do not reach the terminal", async (t) => {
    const cwd = join(nvim.dirs.home, "\u001b[2Jx\ny");
    mkdirSync(cwd);
    const { code, output } = await runDoctor(nvim, [], cwd);
    t.equal(code, 1);
    t.match(
      output,
      /ERROR +The CLI runs in \S+\/\?\[2Jx\?y, which is outside of the workspace \S+\n +-> start the CLI in the workspace/,
    );
    t.notMatch(output, "\u001b");
  });

  await t.test("the doctor works in a deleted directory", async (t) => {
    const cwd = join(nvim.dirs.home, "gone");
    mkdirSync(cwd);
    const doctor = `cd '${cwd}' && rmdir '${cwd}' && exec '${process.execPath}' '${PROGRAM}'`;
    const { stdout, stderr } = spawnSync("sh", ["-c", doctor], {
      env: makeEnv(nvim.dirs),
      encoding: "utf8",
    });
    t.match(stdout, `The CLI runs in ${cwd}, which is outside of the workspace`);
    t.equal(stderr, "");
  });

  await t.test("the doctor reports an editor whose discovery file names an impossible port", async (t) => {
    const path = join(nvim.dirs.tmp, "gemini/ide/gemini-ide-server-1-99999.json");
    writeFileSync(path, "{}");
    const { sections } = await runDoctor(nvim, []);
    rmSync(path);
    t.match(
      sections["Editors"],
      /WARNING +an editor, process 1, port 99999: no bridge answers on this port\s+-> run :GeminiRestart/,
    );
  });

  await t.test("the doctor reports a connected CLI", async (t) => {
    const client = await startClient(nvim);
    const { sections } = await runDoctor(nvim, [String(client.pid)]);
    t.match(sections["Gemini CLI"], `ok      The CLI is connected to ${editor}`);
    t.match(sections["Gemini CLI"], `ok      The CLI chooses ${editor}`);
  });

  await t.test("the doctor lists the running CLIs", async (t) => {
    const pid = await startLookalike(t, nvim);
    t.match(
      (await runDoctor(nvim, ["--list"])).output,
      new RegExp(`^${pid} \\S+ \\S+/gemini --model x{1000}$`, "m"),
    );
    const { "Running CLIs": running } = (await runDoctor(nvim, [])).sections;
    t.match(running, new RegExp(`process ${pid}: \\S+ \\S+/gemini --model x{20,150}…, not connected`));
    t.match(running, `not connected to any editor; for the reason, run node ${PROGRAM} ${pid}`);
  });

  await t.test("the doctor's option --json prints a report for programs", async (t) => {
    const { code, output } = await runDoctor(nvim, ["--json", "4194999"]);
    const { sections } = z
      .object({
        sections: z.array(
          z.object({
            title: z.string(),
            items: z.array(
              z.object({
                level: z.enum(["ok", "info", "warn", "error"]),
                text: z.string(),
                advice: z.string().optional(),
              }),
            ),
          }),
        ),
      })
      .parse(JSON.parse(output));
    t.match(sections[0], {
      title: "Gemini CLI, process 4194999",
      items: [{ level: "error", text: "There is no process 4194999", advice: /pgrep/ }],
    });
    t.equal(code, 1);
  });

  await t.test("wrong arguments of the doctor are refused", async (t) => {
    for (const args of [["me"], ["1", "2"], ["--all"], ["-1"]]) {
      const { code, output } = await runDoctor(nvim, args);
      t.equal(code, 2, args.join(" "));
      t.match(output, /^usage: /);
    }
  });
});
