// Rules for the dependencies between the rooms (folders) of src: see doc/architecture.md. Types and `import()` count.

const features = "changes|claude|context|discovery|doctor|model|prompt|review|turns";
const foundations = "base|contract|http|neovim|profiles|sharing|store|system";

/** @type {import("dependency-cruiser").IConfiguration} */
export default {
  forbidden: [
    {
      name: "no-feature-depends-on-another",
      comment: "services.ts connects features by passing functions.",
      severity: "error",
      from: { path: `^src/(${features})/` },
      to: { path: `^src/(?:${features})/`, pathNot: "^src/$1/" },
    },
    {
      name: "no-foundation-depends-on-a-feature",
      severity: "error",
      from: { path: `^src/(${foundations})/` },
      to: { path: `^src/(?:${features}|programs)/` },
    },
    {
      name: "no-room-depends-on-the-top",
      severity: "error",
      from: { path: `^src/(${foundations}|${features})/` },
      to: { path: "^src/[^/]+$" },
    },
    { name: "no-cycle", severity: "error", from: {}, to: { circular: true } },
    {
      name: "no-cycle-of-rooms",
      severity: "error",
      scope: "folder",
      from: {},
      to: { circular: true },
    },
    {
      name: "every-room-is-listed-here",
      severity: "error",
      from: { path: "^src/[^/]+/", pathNot: `^src/(?:${foundations}|${features}|programs)/` },
      to: {},
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    doNotFollow: { path: "node_modules" },
  },
};
