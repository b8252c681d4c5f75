// Provides an ordinary user for test runs that root has started, because Gemini CLI and file permissions behave
// differently for root. The user works in a copy of the checkout. The checkout itself keeps its owners and modes, and
// may be in a folder that only root can enter.
import { execFileSync, spawnSync } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, join } from "node:path";

const NAME = "gemini-bridge-test";

/**
 * Folders of installed programs and packages. The copy contains hard links to their files, because tests only read
 * these files.
 */
const INSTALLED = ["node_modules", ".compat", ".qwen", ".nodes", ".nvim"];

/** Folders that are left out when the checkout is copied, because running tests may change them. */
const LEFT_OUT = [".git", ".tap", "package"];

/** Environment variables of root that the ordinary user also gets: those for tests, terminals and CLIs. */
const KEPT =
  /^(PATH|TERM|COLORTERM|LANG|LC_\w+|TZ|CI|FUZZ(_SEED)?|TAP_TIMEOUT|NVIM_(BIN|VERSION)|LAZY_NVIM|MINI_DEPS|LLXPRT_CODE|CLAUDE_CODE|OPENCODE|(GEMINI|GOOGLE)_\w+)$/;

/** Commands that tests need, with their Debian packages. Root installs them before the tests run as another user. */
const COMMANDS = [
  ["tmux", "tmux"],
  ["ps", "procps"],
];

/**
 * The place where a program runs, and the user who runs it.
 * @typedef {object} Place
 * @property {string} root path of the checkout or its copy
 * @property {string} node path of Node
 * @property {NodeJS.ProcessEnv} env
 * @property {{ uid?: number, gid?: number }} ids for `spawn`
 * @property {(path: string) => string} path converts a path in the checkout to the same path in the copy
 * @property {() => void} close removes the copy; idempotent
 */

/**
 * Runs programs in the checkout itself, as the current user.
 * @param {string} root of the checkout
 * @returns {Place}
 */
export function ownPlace(root) {
  return { root, node: process.execPath, env: process.env, ids: {}, path: (path) => path, close() {} };
}

/**
 * Runs programs as an ordinary user.
 * @param {string} root of the checkout
 * @returns {Place} for root: a copy of the checkout, and the ordinary user. For any other user: the same as `ownPlace`
 */
export function ordinaryPlace(root) {
  if (process.getuid?.() !== 0) return ownPlace(root);
  // The ordinary user must be able to read the files that root creates from here on.
  process.umask(0o022);
  for (const words of COMMANDS) execFileSync(join(root, "scripts/need.sh"), words, { stdio: "inherit" });
  const user = findUser() ?? createUser();
  const { uid, gid, home } = user;
  const copy = mkdtempSync(join(parentFor(root, home), "checkout-"));
  const close = () => rmSync(copy, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  for (const signal of ["SIGINT", "SIGTERM"])
    process.once(signal, () => {
      close();
      process.exit(1);
    });
  try {
    copyCheckout(root, copy, user);
    const node = findNode(copy, user);
    const { NVIM_BIN } = process.env;
    const path = (path) => (path.startsWith(`${root}/`) ? join(copy, path.slice(root.length)) : path);
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => KEPT.test(name)));
    Object.assign(env, { HOME: home, USER: NAME, LOGNAME: NAME, SHELL: "/bin/sh" });
    if (NVIM_BIN) env["NVIM_BIN"] = path(NVIM_BIN);
    return { root: copy, node, env, ids: { uid, gid }, path, close };
  } catch (error) {
    close();
    throw error;
  }
}

function findUser() {
  const { stdout } = spawnSync("getent", ["passwd", NAME], { encoding: "utf8" });
  if (!stdout) return undefined;
  const [, , uid, gid, , home = ""] = stdout.split(":");
  return { uid: Number(uid), gid: Number(gid), home };
}

function createUser() {
  const { error, stderr } = spawnSync("useradd", ["--create-home", "--user-group", NAME], {
    encoding: "utf8",
  });
  // Looks for the ordinary user again: a parallel run may have created this user meanwhile.
  const user = findUser();
  if (user) return user;
  throw new Error(
    `The tests do not run as root, and the user ${NAME} cannot be created (${error?.message ?? stderr.trim()}). ` +
      "Start them as an ordinary user.",
  );
}

/**
 * Chooses a parent folder for the copy. Prefers a folder on the file system of the checkout, because hard links need
 * the same file system. If there is no such folder, chooses the user's home.
 */
function parentFor(root, home) {
  const { dev } = statSync(root);
  return [home, "/var/tmp", "/tmp"].find((folder) => statSync(folder).dev === dev) ?? home;
}

/** Copies a checkout for a user, including the installed files. */
function copyCheckout(root, copy, user) {
  const { uid, gid } = user;
  const sources = readdirSync(root).filter((name) => !INSTALLED.includes(name) && !LEFT_OUT.includes(name));
  execFileSync("cp", ["--archive", "--target-directory", copy, ...sources.map((name) => join(root, name))]);
  copyRepository(root, copy);
  mkdirSync(join(copy, ".tap"));
  execFileSync("chown", ["--recursive", "--no-dereference", `${uid}:${gid}`, copy]);
  for (const name of INSTALLED.filter((name) => existsSync(join(root, name))))
    lend(join(root, name), join(copy, name), user);
  if (existsSync(join(copy, ".nvim")))
    execFileSync(join(copy, "scripts/nvim.sh"), ["relink"], { stdio: "inherit" });
}

/**
 * Copies the repository, because git refuses to use another user's repository. Clones it if the checkout is a worktree.
 */
function copyRepository(root, copy) {
  const from = join(root, ".git");
  const to = join(copy, ".git");
  if (lstatSync(from).isDirectory()) return execFileSync("cp", ["--archive", from, to]);
  execFileSync("git", ["clone", "--quiet", "--bare", root, to]);
  execFileSync("git", ["config", "core.bare", "false"], { cwd: copy });
}

/**
 * Makes the files of the folder `from` available to a user in the folder `to`. Makes hard links. If hard links are
 * impossible, or if not all users may read the files, makes a copy.
 */
function lend(from, to, { uid, gid }) {
  const owner = `${uid}:${gid}`;
  const unreadable = execFileSync("find", [from, "!", "-type", "l", "!", "-perm", "-o=r", "-print", "-quit"]);
  if (unreadable.length === 0 && spawnSync("cp", ["--archive", "--link", from, to]).status === 0) {
    execFileSync("find", [to, "-type", "d", "-exec", "chown", owner, "{}", "+"]);
    return;
  }
  rmSync(to, { recursive: true, force: true });
  execFileSync("cp", ["--archive", "--reflink=auto", from, to]);
  execFileSync("chown", ["--recursive", "--no-dereference", owner, to]);
}

/**
 * Returns a path of Node that the user can execute. If the user cannot execute the running Node (for example, in root's
 * home), copies this Node and its npm.
 */
function findNode(copy, user) {
  const { uid, gid } = user;
  const { status } = spawnSync(process.execPath, ["--version"], { uid, gid, cwd: "/" });
  if (status === 0) return process.execPath;
  const prefix = dirname(dirname(realpathSync(process.execPath)));
  const own = join(copy, ".tap/node");
  for (const name of ["bin/node", "bin/npm", "bin/npx", "lib/node_modules/npm"].filter((name) =>
    existsSync(join(prefix, name)),
  )) {
    mkdirSync(dirname(join(own, name)), { recursive: true });
    lend(join(prefix, name), join(own, name), user);
  }
  return join(own, "bin/node");
}
