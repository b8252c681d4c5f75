// Replaces modules that libraries import but the bridge never calls. The bundle becomes smaller, and its start faster
// (bench/README.md has measurements).

import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * Modules to replace. If a file whose path contains `library` imports one of `modules`, the import gets the code that
 * `instead` is or returns.
 */
export const leftOut = [
  // The logger of the Neovim client (winston). The bridge does not use its log, and src/neovim/client.ts already
  // redirects console.*.
  {
    library: "/neovim/lib/",
    modules: ["../utils/logger"],
    instead: `const write = () => {};
      const logger = { level: "error", debug: write, info: write, warn: write, error: write };
      exports.getLogger = () => logger;`,
  },
  // Module that validates the user's answers to `elicitation/create` requests. The bridge never sends such requests.
  {
    library: "/@modelcontextprotocol/",
    modules: ["../validation/ajv-provider.js"],
    instead: "export class AjvJsonSchemaValidator {}",
  },
  // Zod 3. The MCP SDK supports it, but the bridge uses Zod 4.
  {
    library: "/@modelcontextprotocol/",
    modules: ["zod/v3", "zod-to-json-schema"],
    instead: "module.exports = {};",
  },
  // Compilers for the JSON schemas of routes. The bridge's routes have no JSON schemas.
  {
    library: "/fastify/",
    modules: ["@fastify/ajv-compiler", "@fastify/fast-json-stringify-compiler"],
    instead: "module.exports = () => () => undefined;",
  },
  // Validation of the server's options. They are constants in src/http/server.ts, except the limit for bodies, which
  // src/contract/boot.ts checks. Only the default values stay.
  {
    library: "/fastify/",
    modules: ["./config-validator"],
    instead: () => {
      const { defaultInitOptions } = createRequire(import.meta.url)("fastify/lib/config-validator.js");
      // Copies the default values for each server, because Fastify freezes the options.
      return `const defaults = () => (${JSON.stringify(defaultInitOptions)});
        module.exports = (options) => Object.assign(options, { ...defaults(), ...options });
        module.exports.defaultInitOptions = defaults();`;
    },
  },
  // Addresses of clients behind a proxy. The bridge listens only on loopback addresses and trusts no proxy.
  {
    library: "/fastify/",
    modules: ["@fastify/proxy-addr"],
    instead: "module.exports = {};",
  },
  // Search for slow regular expressions in the paths of routes, a drawing of all routes, and the router's compiler. The
  // bridge's paths have no regular expressions; it draws no routes, and keeps Fastify's default `compile: false`.
  {
    library: "/find-my-way/",
    modules: ["safe-regex2", "./lib/pretty-print", "./lib/compiler"],
    instead: "module.exports = () => true;",
  },
  // Optional native code for WebSockets. Without this code, the package `ws` uses JavaScript.
  {
    library: "/ws/lib/",
    modules: ["bufferutil", "utf-8-validate"],
    instead: 'throw new Error("not in the bundle");',
  },
  // Compression of WebSocket messages. The bridge does not use it.
  {
    library: "/ws/",
    modules: ["./permessage-deflate", "./lib/permessage-deflate.js"],
    instead: 'exports.extensionName = "permessage-deflate";',
  },
  // Modules for WebSocket clients, and for using a WebSocket as a Node stream.
  {
    library: "/ws/",
    modules: ["https", "net", "querystring", "tls", "./lib/stream.js"],
    instead: "module.exports = {};",
  },
  // All caches except the one that Fastify uses.
  {
    library: "/fastify/",
    modules: ["toad-cache"],
    instead: 'export { FifoMap } from "toad-cache";',
  },
  // Servers for HTTPS and HTTP/2, Fastify's logger, version checks of plugins, and simulated requests.
  {
    library: "/fastify/",
    modules: ["node:http2", "node:https", "semver", "light-my-request", "./logger-pino.js"],
    instead: "module.exports = {};",
  },
];

/**
 * Creates the esbuild plugin that replaces the modules.
 * @param {typeof leftOut} replacements
 * @returns {{ plugin: import("esbuild").Plugin, unused: () => string[] }} `unused` must be called after the build. It
 * returns the modules that no library has imported: a new version of the library may have renamed such a module, and
 * the bundle may then contain it.
 */
export function leaveOut(replacements) {
  const namespace = "left-out";
  const all = replacements.flatMap(({ library, modules, instead }) =>
    modules.map((module) => ({ library, module, instead, used: false })),
  );
  const plugin = {
    name: namespace,
    setup(build) {
      build.onResolve({ filter: /.*/ }, ({ path, importer }) => {
        const found = all.find(({ module, library }) => module === path && importer.includes(library));
        if (!found) return undefined;
        found.used = true;
        return { path, namespace, pluginData: found.instead };
      });
      build.onLoad({ filter: /.*/, namespace }, ({ pluginData }) => ({
        contents: typeof pluginData === "function" ? pluginData() : pluginData,
        resolveDir: root,
      }));
    },
  };
  const unused = () =>
    all.filter(({ used }) => !used).map(({ module, library }) => `${module} (imported in ${library})`);
  return { plugin, unused };
}
