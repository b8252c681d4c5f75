/** Simulates a user in a real Neovim with a real host. Simulated CLIs propose changes, write files and disconnect. */
import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Test } from "tap";
import { z } from "zod";
import { type RunningBridge, startBridge } from "./bridge.ts";
import type { CompanionClient } from "./client.ts";
import { HookedAgent } from "./hooked-agent.ts";
import type { Nvim } from "./nvim.ts";
import { LAYOUT } from "./review.ts";
import { waitFor } from "./wait.ts";
import { INIT, LEFT, PAGE_WINDOW, Place, WHERE } from "./working-day-lua.ts";
import { type Day, DECIDING, DECISION_STEPS, FILES, type Step } from "./working-day-steps.ts";

const Texts = z.preprocess((list) => (Array.isArray(list) ? list : []), z.array(z.string()));

interface Word {
  file: string;
  /** True if the word was typed into a proposal and not into the file. */
  proposed: boolean;
}

/** A CLI, and the files for which its proposals are pending. */
class Cli {
  readonly pending = new Set<string>();

  constructor(readonly client: CompanionClient) {}
}

/** One simulated day in one Neovim. */
export class WorkingDay {
  readonly #nvim: Nvim;
  readonly #clis: Cli[] = [];
  readonly #words = new Map<string, Word>();
  /** Texts that CLIs have received: accepted texts, and texts of reviews that a CLI has closed. */
  readonly #told: string[] = [];
  /** Keys or kinds of the last steps. A decision that arrives now may come from any of these steps. */
  #last: string[] = [];
  #count = 0;
  #globals: Record<string, unknown> = {};

  private constructor(readonly bridge: RunningBridge) {
    this.#nvim = bridge.nvim;
  }

  static async begin(t: Test): Promise<WorkingDay> {
    const { bridge } = await startBridge(t, { files: FILES, args: ["notes.txt"], init: INIT });
    const day = new WorkingDay(bridge);
    day.#clis.push(new Cli(await day.bridge.client()), new Cli(await day.bridge.client()));
    day.#globals = await day.#globalOptions();
    return day;
  }

  /** Carries out the steps, ends the day, and checks that nothing is missing that a user would miss. */
  async live({ steps, end }: Day): Promise<void> {
    for (const [index, one] of steps.entries()) {
      await this.#step(one);
      if (index % 10 === 9) await this.#checkMessages();
    }
    await this.#answer();
    if (end.how === "disconnect") await this.#check();
    else await this.#quit(end);
    await this.#nvim.close();
  }

  /** Carries out a step. A prompt that an earlier key has opened stays open until the user's next step. */
  async #step(one: Step): Promise<void> {
    const keys = one.kind === "keys" ? one.keys : one.kind === "delete" ? one.how.keys : one.kind;
    this.#last.push(keys);
    const blocked = await this.#isAsking();
    if (blocked && ["keys", "delete", "type"].includes(one.kind)) await this.#answer();
    const going = this.#act(one);
    going.catch(() => {}); // until it is awaited
    if (blocked) await this.#answer();
    await going;
  }

  /** Returns whether a prompt is open. During a question with y and n, Neovim still answers requests. */
  async #isAsking(): Promise<boolean> {
    const { mode, blocking } = await this.#nvim.nvim.mode;
    return blocking || mode.startsWith("r");
  }

  /** Closes an open prompt. */
  async #answer(): Promise<void> {
    for (let tries = 0; tries < 5 && (await this.#isAsking()); tries++) await this.#nvim.input("<C-c>");
  }

  async #act(one: Step): Promise<void> {
    switch (one.kind) {
      case "keys":
        return this.#press(one.keys);
      case "delete":
        return this.#delete(one.how);
      case "type":
        return this.#type(one.into);
      case "plugin":
        return void (await this.#nvim.lua(one.code));
      case "glance":
        return this.#glance(one.client);
      case "open":
        return this.#open(one.client, one.file);
      case "close":
        return this.#close(one.client, one.writes);
      case "disconnect":
        return this.#disconnect(one.client);
      case "restart":
        return this.#restart();
      case "write":
        return appendFileSync(this.#nvim.path(one.file), "from outside\n");
      case "page":
        return this.#usePage(one.window, one.keys);
      case "agent":
        return this.#writeAsAgent(one.file, one.prompts);
      case "agentDeletes":
        return this.#deleteAsAgent("made.txt");
    }
  }

  async #press(keys: string): Promise<void> {
    await this.#nvim.input("<C-\\><C-n>");
    if (/^(:w?q!?<CR>|ZZ|<C-w>c|:bdelete!?<CR>)$/.test(keys) && (await this.#wouldEnd())) return;
    await this.#nvim.input(keys);
  }

  /** Returns whether closing the window would end Neovim. */
  async #wouldEnd(): Promise<boolean> {
    const alone = "vim.fn.tabpagenr('$') == 1 and vim.fn.winlayout()[1] == 'leaf' and not vim.b.gemini_diff";
    return z.boolean().parse(await this.#nvim.lua(`return vim.fn.getcmdwintype() == '' and ${alone}`));
  }

  async #type(into: string): Promise<void> {
    const word = `word${++this.#count}.`;
    await this.#press(`${into}${word}`);
    const { file, proposed = false } = Place.parse(await this.#nvim.lua(WHERE, word));
    if (file !== undefined) this.#words.set(word, { file, proposed });
  }

  /** Presses keys in a window of the review page. */
  async #usePage(window: "tree" | "file", keys: string): Promise<void> {
    await this.#press(":GeminiChanges<CR>");
    const current = await this.#nvim.lua(PAGE_WINDOW);
    if (current === "") return;
    if (current !== window) await this.#nvim.input("\\t");
    if ((await this.#nvim.lua(PAGE_WINDOW)) !== window) return;
    // In the file, `u` undoes the last edit.
    if (keys === "u") await this.#delete({ keys, where: "buffer" });
    else await this.#press(keys);
  }

  #diskText(name: string): string {
    return existsSync(this.#nvim.path(name)) ? readFileSync(this.#nvim.path(name), "utf8") : "";
  }

  async #writeAsAgent(name: string, prompts: boolean): Promise<void> {
    const agent = new HookedAgent(this.bridge);
    if (prompts) await agent.prompt(`task ${this.#count}`);
    await agent.write(name, `agent ${this.#count}\n${this.#diskText(name)}agent ${this.#count}\n`);
  }

  /** Deletes a file as an agent, but only if the file contains no word of the user. */
  async #deleteAsAgent(name: string): Promise<void> {
    const text = this.#diskText(name);
    if (text !== "" && !text.includes("word")) await new HookedAgent(this.bridge).write(name, undefined);
  }

  async #delete({ keys, where }: { keys: string; where: "buffer" | "files" }): Promise<void> {
    await this.#press(""); // leaves the command-line window
    const buf = z.int().parse(await this.#nvim.lua("return vim.api.nvim_get_current_buf()"));
    const isProposal = z.boolean().parse(await this.#nvim.lua("return vim.b.gemini_diff ~= nil"));
    const read = async () =>
      where === "buffer" ? String(await this.#nvim.lua("return _G.text(...)", buf)) : await this.#reachable();
    const before = await read();
    await this.#press(keys);
    await this.#answer();
    const after = await read();
    for (const [word, { proposed }] of this.#words) {
      if (!before.includes(word) || after.includes(word)) continue;
      // A proposal that closes is decided or stays pending. Its words are then delivered, saved or discarded.
      const isGivenUp = where === "files" ? !proposed : !isProposal || !/^:(q|bdelete)/.test(keys);
      if (isGivenUp) this.#words.delete(word);
    }
  }

  async #layout(): Promise<Record<string, unknown>> {
    return z.record(z.string(), z.unknown()).parse(await this.#nvim.lua(LAYOUT));
  }

  async #globalOptions(): Promise<Record<string, unknown>> {
    return z.record(z.string(), z.unknown()).parse((await this.#layout())["globals"]);
  }

  /** Opens and closes a review while no other review is open. Afterwards, everything must be as before. */
  async #glance(index: number): Promise<void> {
    await this.#settle();
    const isFree =
      "#require('gemini-bridge').diffs() == 0 and vim.fn.getcmdwintype() == '' and vim.fn.bufwinid('gemini-bridge://status') < 0";
    if (!(await this.#nvim.lua(`return ${isFree}`))) return;
    const [before, text] = [await this.#layout(), await this.#texts()];
    await this.#open(index, "a.txt");
    await this.#nvim.lua("require('gemini-bridge').reject()");
    await this.#settle();
    const after = await this.#layout();
    // If a file has changed late, cursors, folds and the review page may differ too.
    if (!isDeepStrictEqual(await this.#texts(), text)) return;
    for (const [name, value] of Object.entries(before))
      if (!isDeepStrictEqual(after[name], value))
        throw new Error(`a review has changed ${name}: ${JSON.stringify([value, after[name]])}`);
  }

  async #open(index: number, name: string): Promise<void> {
    await this.#settle();
    const { client, pending } = this.#cli(index);
    const path = this.#nvim.path(name);
    pending.add(path);
    const answer = await client.openDiff(path, `proposed ${++this.#count}\nthree\n`);
    if (answer.isError) throw new Error(JSON.stringify(answer.content));
  }

  /** Simulates the user's answer in the CLI: "yes", after which the CLI writes the file, or "no". */
  async #close(index: number, writes: boolean): Promise<void> {
    await this.#settle();
    const { client, pending } = this.#cli(index);
    const [path] = pending;
    if (path === undefined) return;
    const content = await client.closeDiff(path);
    if (content === undefined) return;
    pending.delete(path);
    this.#told.push(content);
    if (writes) this.#write(path, content);
  }

  /** Removes the words that the accepted text overwrites in a file. */
  #write(path: string, content: string): void {
    for (const [word, { file, proposed }] of this.#words)
      if (file === path && !proposed && !content.includes(word)) this.#words.delete(word);
    writeFileSync(path, content);
  }

  async #disconnect(index: number): Promise<void> {
    await this.#settle();
    await this.#goes(this.#cli(index));
    this.#clis[index] = new Cli(await this.bridge.client());
  }

  async #goes({ client, pending }: Cli): Promise<void> {
    const status = "require('gemini-bridge').status()";
    const count = await this.#nvim.lua(`return #${status}.clients`);
    await client.close();
    this.#take();
    pending.clear();
    const left = this.#clis.reduce((sum, other) => sum + other.pending.size, 0);
    const isGone = `#${status}.clients < ${count} and #${status}.diffs <= ${left}`;
    await this.#nvim.waitFor(isGone, "the CLI and its reviews to be gone");
  }

  async #restart(): Promise<void> {
    await this.#settle();
    await this.#nvim.stopBridge();
    for (const { client } of this.#clis.splice(0)) await client.close();
    await this.#nvim.startBridge();
    this.#clis.push(new Cli(await this.bridge.client()), new Cli(await this.bridge.client()));
  }

  #cli(index: number): Cli {
    const cli = this.#clis[index];
    if (!cli) throw new Error("no such CLI");
    return cli;
  }

  /** Waits until all decisions have arrived. CLIs then write the accepted texts. */
  async #settle(): Promise<void> {
    await this.#nvim.lua("vim.wait(20)");
    for (const { client } of this.#clis) await client.mcp.ping();
    this.#take();
  }

  #take(): void {
    for (const { client, pending } of this.#clis) {
      const { "ide/diffAccepted": accepted, "ide/diffRejected": rejected } = client.received;
      for (const { filePath, content } of accepted.splice(0)) {
        this.#checkDecision(filePath);
        if (!pending.delete(filePath)) throw new Error(`${filePath} was accepted after its review had ended`);
        this.#told.push(content);
        this.#write(filePath, content);
      }
      for (const { filePath } of rejected.splice(0)) {
        this.#checkDecision(filePath);
        if (!pending.delete(filePath)) throw new Error(`${filePath} was rejected after its review had ended`);
        for (const [word, { file, proposed }] of this.#words)
          if (file === filePath && proposed) this.#words.delete(word);
      }
    }
    this.#last = this.#last.slice(-DECISION_STEPS);
  }

  #checkDecision(path: string): void {
    if (!this.#last.some((keys) => DECIDING.test(keys)))
      throw new Error(`${path} was decided without the user, by one of ${this.#last.join(" ")}`);
  }

  async #checkMessages(): Promise<void> {
    if (await this.#isAsking()) return;
    // Loading a session can fail because of modified buffers (E37) or because a proposal still has its name (E95).
    const inSession =
      /Error (in|detected while processing) \S+session\.vim:\n(line +\d+:\n|E(37|95):.*\n?)+/g;
    // A simulated plugin may close its window while another plugin's `:wall` asks about a changed file.
    const whileAsking = /Error in nvim_exec2\(\):\nline +1:\nWarning: Entered other buffer unexpectedly.*/g;
    const messages = (await this.#nvim.messages()).replace(inSession, "").replace(whileAsking, "");
    if (
      /stack traceback|E5108|This error probably comes from|Error executing|Error in |Error detected/.test(
        messages,
      )
    )
      throw new Error(messages);
  }

  async #check(): Promise<void> {
    await this.#press("");
    const page = "vim.fn.bufnr('^gemini-page://changes$')";
    if (await this.#nvim.lua(`return #vim.fn.win_findbuf(${page}) > 0`)) await this.#usePage("tree", "q");
    await this.#settle();
    for (const cli of this.#clis) await this.#goes(cli);
    await this.#press("");
    await this.#nvim.lua("vim.wait(20)");
    await this.#checkMessages();
    const left = Texts.parse(await this.#nvim.lua(LEFT));
    if (left.length > 0) throw new Error(left.join(", "));
    const globals = await this.#globalOptions();
    // In Neovim 0.10, a session with several tab pages sets 'winminheight' to 0.
    for (const [name, value] of Object.entries(this.#globals))
      if (!name.startsWith("winmin") && globals[name] !== value)
        throw new Error(`global option ${name}: ${value}, now ${globals[name]}`);
    const texts = `${await this.#reachable()}\n${this.#told.join("\n")}`;
    for (const [word, { file, proposed }] of this.#words)
      if (!texts.includes(word))
        throw new Error(`${word} was typed into ${proposed ? "a proposal for " : ""}${file} and is lost`);
  }

  /** Ends Neovim while reviews are open. Words typed into proposals must be saved, or must have reached a CLI. */
  async #quit({ how, typing, gone }: Day["end"]): Promise<void> {
    await this.#press("");
    await this.#settle();
    const [first] = this.#clis;
    const [path] = first?.pending ?? [];
    if (typing && path !== undefined) {
      await this.#press(`:GeminiReview ${path}<CR>`);
      await this.#answer(); // Neovim asks if both CLIs propose a change to this file
      await this.#type("A ");
    }
    if (gone && first) await this.#goes(first);
    if (how === "SIGTERM") {
      await this.#nvim.lua("vim.wait(100)"); // the plugin saves edits 50 ms after a key
      this.#nvim.kill("SIGTERM");
    } else if (how === "SIGKILL") {
      await waitFor(() => this.#unsaved().length === 0, "the drafts").catch(() => {});
      this.#nvim.kill("SIGKILL");
    } else this.#nvim.nvim.notify("nvim_input", [`${typing ? "<C-\\><C-o>" : "<C-\\><C-n>"}:qall!<CR>`]);
    await this.#nvim.exited;
    for (const [word, { file }] of this.#unsaved())
      throw new Error(`${word} was typed into a proposal for ${file} and is lost with Neovim`);
  }

  /** Returns words that were typed into proposals and would be lost if Neovim ended now. */
  #unsaved(): [string, Word][] {
    const texts = `${this.#savedTexts().join("\n")}\n${this.#told.join("\n")}`;
    return [...this.#words].filter(([word, { proposed }]) => proposed && !texts.includes(word));
  }

  /** Returns the texts of all buffers. */
  async #texts(): Promise<string[]> {
    return Texts.parse(await this.#nvim.lua("return vim.tbl_map(_G.text, vim.api.nvim_list_bufs())"));
  }

  /** Returns the texts of all buffers and files, and the texts that the plugin has saved. */
  async #reachable(): Promise<string> {
    return [...(await this.#texts()), ...this.#savedTexts()].join("\n");
  }

  /** Returns the texts of all files, and the texts that the plugin has saved. */
  #savedTexts(): string[] {
    const { workspace, state } = this.#nvim.dirs;
    const saved = ["kept", "drafts"].map((name) => join(state, `nvim/gemini-bridge-${name}`));
    return [
      ...readTexts(workspace, ".txt"),
      ...saved.filter((directory) => existsSync(directory)).flatMap((path) => readTexts(path, ".json")),
    ];
  }
}

/** Returns the texts of the files in a directory. */
function readTexts(directory: string, suffix: string): string[] {
  return readdirSync(directory)
    .filter((name) => name.endsWith(suffix))
    .map((name) => readFileSync(join(directory, name), "utf8"));
}
