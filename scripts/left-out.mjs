// Replaces modules that libraries import but the bridge never calls, for a smaller bundle and a faster start
// (bench/README.md has measurements).

/** The modules, named as in the imports of files whose path contains `library`, and the code that replaces them. */
export const leftOut = [
  // The client's logger, winston. It also redirects console.*, which src/neovim/client.ts does instead.
  {
    library: "/neovim/lib/",
    modules: ["../utils/logger"],
    instead: `const write = () => {};
      const logger = { level: "error", debug: write, info: write, warn: write, error: write };
      exports.getLogger = () => logger;`,
  },
  // Validates answers of clients to requests that the bridge never sends.
  {
    library: "/@modelcontextprotocol/",
    modules: ["../validation/ajv-provider.js"],
    instead: "export class AjvJsonSchemaValidator {}",
  },
  // Zod 3, which the SDK supports in addition to Zod 4.
  {
    library: "/@modelcontextprotocol/",
    modules: ["zod/v3", "zod-to-json-schema"],
    instead: "module.exports = {};",
  },
  // Compilers for routes with a JSON schema.
  {
    library: "/fastify/",
    modules: ["@fastify/ajv-compiler", "@fastify/fast-json-stringify-compiler"],
    instead: "module.exports = () => () => undefined;",
  },
  // Optional native code for WebSockets. Without it, `ws` uses JavaScript.
  {
    library: "/ws/lib/",
    modules: ["bufferutil", "utf-8-validate"],
    instead: 'throw new Error("not in the bundle");',
  },
  // Compression of WebSockets, which is off.
  {
    library: "/ws/",
    modules: ["./permessage-deflate", "./lib/permessage-deflate.js"],
    instead: 'exports.extensionName = "permessage-deflate";',
  },
  // The WebSocket client, and the wrapper that makes a WebSocket a Node stream.
  {
    library: "/ws/",
    modules: ["https", "net", "querystring", "tls", "./lib/stream.js"],
    instead: "module.exports = {};",
  },
  // Unused servers and loggers, version checks of Fastify plugins, requests without a network.
  {
    library: "/fastify/",
    modules: ["node:http2", "node:https", "semver", "light-my-request", "./logger-pino.js"],
    instead: "module.exports = {};",
  },
];

/**
 * @param {typeof leftOut} replacements
 * @returns {{ plugin: import("esbuild").Plugin, unused: () => string[] }} `unused` returns, after the build, the
 *   modules that were not imported. A library may have renamed such a module, which would then be bundled.
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
      build.onLoad({ filter: /.*/, namespace }, ({ pluginData }) => ({ contents: pluginData }));
    },
  };
  const unused = () =>
    all.filter(({ used }) => !used).map(({ module, library }) => `${module} (imported in ${library})`);
  return { plugin, unused };
}
