/** Tests the tools with typescript-language-server, a widely used language server. */
import { readFileSync, writeFileSync } from "node:fs";
import t from "tap";
import { startBridge } from "../support/bridge.ts";
import { connectEditorClient, typescriptServer } from "../support/editor-client.ts";

const FILES = {
  "tsconfig.json": '{ "compilerOptions": { "strict": true, "module": "preserve", "noLib": false } }\n',
  "greet.ts":
    "export interface Greeter {\n  greet(name: string): string;\n}\n\nexport function greet(name: string): string {\n  return `Hello ` + name;\n}\n",
  "main.ts":
    'import { greet } from "./greet";\n\nconst é = 1; const text: string = greet("Ada");\nconsole.log(text, é);\n',
  "other.ts":
    'import { greet, type Greeter } from "./greet";\n\nexport class Polite implements Greeter {\n  greet(name: string) {\n    return greet(name);\n  }\n}\n',
};
const main = FILES["main.ts"];

t.test("typescript-language-server answers the tools", async (t) => {
  const { bridge, nvim } = await startBridge(t, {
    files: FILES,
    args: ["main.ts"],
    init: `require('gemini-bridge.host.boot').limits.language_server_ms = 30000\n${typescriptServer()}`,
  });
  const client = await connectEditorClient(t, bridge);
  const { text } = client;
  const onDisk = (name: keyof typeof FILES) => readFileSync(nvim.path(name), "utf8");
  const place = { path: "main.ts", line: 3, symbol: "greet" };

  await t.test("the tool diagnostics waits for new diagnostics of TypeScript after an edit", async (t) => {
    t.match(await text("diagnostics", { path: "main.ts", settle: true }), /^no diagnostics$/m);
    writeFileSync(nvim.path("main.ts"), main.replace('"Ada"', "42"));
    t.equal(
      await text("diagnostics", { path: "main.ts", settle: true }),
      "1 error in 1 file\nmain.ts:3:41 error Argument of type 'number' is not assignable to parameter of type 'string'. [2345]",
    );
    writeFileSync(nvim.path("main.ts"), main);
    t.match(await text("diagnostics", { path: "main.ts", settle: true }), /^no diagnostics$/m);
  });

  await t.test(
    "after an edit in one file, the tool diagnostics shows new errors in another file",
    async (t) => {
      const broken = FILES["greet.ts"].replace("(name: string): string {", "(name: number): string {");
      writeFileSync(nvim.path("greet.ts"), broken);
      t.match(await text("diagnostics", { path: "greet.ts", settle: true }), /^no diagnostics$/m);
      t.match(await text("diagnostics", { path: "main.ts", settle: true }), "main.ts:3:41 error Argument");
      writeFileSync(nvim.path("greet.ts"), FILES["greet.ts"]);
      t.match(await text("diagnostics", { path: "greet.ts", settle: true }), /^no diagnostics$/m);
      t.match(await text("diagnostics", { path: "main.ts", settle: true }), /^no diagnostics$/m);
    },
  );

  await t.test("definitions and references of TypeScript include files that are not open", async (t) => {
    t.equal(
      await text("definition", place),
      "1 definition\ngreet.ts:5:17 export function greet(name: string): string {",
    );
    t.match(
      await text("references", place),
      /^5 references in 3 files\ngreet\.ts:5:17 .*\nmain\.ts:1:10 .*\nmain\.ts:3:35 .*\nother\.ts:1:10 .*\nother\.ts:5:12 return greet/,
    );
    t.match(
      await text("implementations", { path: "greet.ts", line: 1, symbol: "Greeter" }),
      /^1 implementation\nother\.ts:3:14 export class Polite/,
    );
    t.match(await text("hover", place), "greet(name: string): string");
    t.match(await text("symbols", { path: "other.ts" }), /other\.ts:4:3 method Polite\.greet/);
    t.match(await text("workspace_symbols", { query: "Polite" }), /other\.ts:3:\d+ class Polite/);
  });

  await t.test("the tool rename changes several TypeScript files, each in one undo step", async (t) => {
    const said = await text("rename", { ...place, new_name: "welcome" });
    t.match(said, /^3 files changed and written\./);
    t.match(onDisk("greet.ts"), "export function welcome(");
    t.equal(onDisk("main.ts"), main.replaceAll("greet(", "welcome(").replace("{ greet }", "{ welcome }"));
    t.match(onDisk("other.ts"), "return welcome(name)");
    t.match(await text("diagnostics", { path: "main.ts", settle: true }), /^no diagnostics$/m);
    for (const name of ["greet.ts", "main.ts", "other.ts"] as const) {
      await nvim.command(`edit ${name}`);
      await nvim.command("silent undo | silent write");
      t.equal(onDisk(name), FILES[name], name);
    }
  });

  await t.test("formatting and a quick fix of TypeScript are applied", async (t) => {
    writeFileSync(nvim.path("main.ts"), 'const  x=greet( "Ada" )\nexport  { x }\n');
    t.match(await text("format", { path: "main.ts" }), "1 file changed and written.");
    t.equal(onDisk("main.ts"), 'const x = greet("Ada")\nexport { x }\n');
    await text("diagnostics", { path: "main.ts", settle: true });
    const listed = await text("code_actions", { path: "main.ts", line: 1 });
    const [, id] = /^(\d+): Add import from "\.\/greet"/m.exec(listed) ?? [];
    t.ok(id, listed);
    t.match(await text("apply_code_action", { id: Number(id) }), "main.ts: 1 edit");
    t.match(onDisk("main.ts"), /^import \{ greet \} from "\.\/greet";?\n/);
  });
});
