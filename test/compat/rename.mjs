// Gives other names to Qwen Code's own code, as the CLIs that are derived from Qwen Code do.
import { register } from "node:module";
import { isMainThread } from "node:worker_threads";

const NAMES = { QWEN_CODE_IDE_: "OLA_CODE_IDE_", QWEN_HOME: "OLA_HOME", '".qwen"': '".ola"' };

if (isMainThread) register(import.meta.url);

/** A loader hook, see https://nodejs.org/docs/latest-v20.x/api/module.html#loadurl-context-nextload. */
export async function load(url, context, nextLoad) {
  const loaded = await nextLoad(url, context);
  if (!url.includes("/@qwen-code/") || !loaded.source) return loaded;
  const source = Object.entries(NAMES).reduce(
    (text, [name, other]) => text.replaceAll(name, other),
    Buffer.from(loaded.source).toString(),
  );
  return { ...loaded, source };
}
