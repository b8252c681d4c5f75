// Adapts the official suite to this server. The suite has no option for a header, so this script adds the header. The
// suite imports `fs.globSync`, which Node 20 does not have, so this script replaces the function.
import { register } from "node:module";

const fetch = globalThis.fetch;
globalThis.fetch = (url, init = {}) => {
  const headers = new Headers(init.headers);
  headers.set("authorization", `Bearer ${process.env.TOKEN}`);
  return fetch(url, { ...init, headers });
};

// Only an unused subcommand calls `fs.globSync`, but without the export, the import would fail.
const fs = "export * from 'node:fs'; export { default } from 'node:fs'; export const globSync = undefined;";
const hooks = `
  export const resolve = (specifier, context, next) =>
    specifier === 'fs' && context.parentURL?.includes('/conformance/')
      ? { url: ${JSON.stringify(`data:text/javascript,${encodeURIComponent(fs)}`)}, shortCircuit: true }
      : next(specifier, context);`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
