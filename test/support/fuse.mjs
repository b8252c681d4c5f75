// A FUSE file system with one folder and one file. Stops answering on request, like the network folder of a machine
// that has crashed. Mounts itself at <directory> and prints "ready". Reads the commands "silent" and "answer" from
// standard input.
// usage: node fuse.mjs <directory> <name of the file> <its text>
import { spawnSync } from "node:child_process";
import { openSync, read, writeSync } from "node:fs";
import { createInterface } from "node:readline";

const [directory = "", name = "", text = ""] = process.argv.slice(2);
const content = Buffer.from(text);

// Constants from <linux/fuse.h>.
const LOOKUP = 1;
const FORGET = 2;
const GETATTR = 3;
const OPEN = 14;
const READ = 15;
const RELEASE = 18;
const FLUSH = 25;
const INIT = 26;
const INTERRUPT = 36;
const BATCH_FORGET = 42;
const ENOENT = -2;
const EINTR = -4;
const ENOSYS = -38;
/** Inode of the file. The folder has inode 1. */
const FILE = 2n;

const device = openSync("/dev/fuse", "r+");
const options = `fd=3,rootmode=40000,user_id=${process.getuid()},group_id=${process.getgid()},allow_other`;
const mounted = spawnSync("mount", ["-i", "-t", "fuse", "-o", options, "silent", directory], {
  stdio: ["ignore", "inherit", "inherit", device],
});
if (mounted.status !== 0) process.exit(1);

let silent = false;
/** Requests without an answer. */
const held = [];

function reply(unique, error, body = Buffer.alloc(0)) {
  const head = Buffer.alloc(16);
  head.writeUInt32LE(16 + body.length, 0);
  head.writeInt32LE(error, 4);
  head.writeBigUInt64LE(unique, 8);
  try {
    writeSync(device, Buffer.concat([head, body]));
  } catch {
    // The process that sent the request has ended.
  }
}

function attributes(node) {
  const attr = Buffer.alloc(88);
  attr.writeBigUInt64LE(node, 0);
  attr.writeBigUInt64LE(node === FILE ? BigInt(content.length) : 0n, 8);
  attr.writeUInt32LE(node === FILE ? 0o100644 : 0o40755, 60);
  attr.writeUInt32LE(1, 64);
  attr.writeUInt32LE(process.getuid(), 68);
  attr.writeUInt32LE(process.getgid(), 72);
  return attr;
}

function answer(request) {
  const opcode = request.readUInt32LE(4);
  const unique = request.readBigUInt64LE(8);
  const node = request.readBigUInt64LE(16);
  const body = request.subarray(40);
  if (opcode === FORGET || opcode === BATCH_FORGET) return;
  // Lets a killed process end, as NFS does. The interrupted request stays open.
  if (opcode === INTERRUPT) return reply(body.readBigUInt64LE(0), EINTR);
  if (opcode === LOOKUP) {
    if (body.toString("utf8", 0, body.indexOf(0)) !== name) return reply(unique, ENOENT);
    const entry = Buffer.alloc(40); // with times of zero, the kernel caches nothing
    entry.writeBigUInt64LE(FILE, 0);
    return reply(unique, 0, Buffer.concat([entry, attributes(FILE)]));
  }
  if (opcode === GETATTR) return reply(unique, 0, Buffer.concat([Buffer.alloc(16), attributes(node)]));
  if (opcode === OPEN) return reply(unique, 0, Buffer.alloc(16));
  if (opcode === READ) {
    const offset = Number(body.readBigUInt64LE(8));
    return reply(unique, 0, content.subarray(offset, offset + body.readUInt32LE(16)));
  }
  if (opcode === RELEASE || opcode === FLUSH) return reply(unique, 0);
  reply(unique, ENOSYS);
}

function initialize(request) {
  const body = Buffer.alloc(64);
  body.writeUInt32LE(7, 0);
  body.writeUInt32LE(31, 4);
  body.writeUInt32LE(65_536, 8);
  body.writeUInt16LE(16, 16);
  body.writeUInt16LE(12, 18);
  body.writeUInt32LE(65_536, 20);
  reply(request.readBigUInt64LE(8), 0, body);
  console.log("ready");
}

function next() {
  const buffer = Buffer.alloc(1_100_000);
  read(device, buffer, 0, buffer.length, null, (error, length) => {
    if (error) process.exit(error.code === "ENODEV" ? 0 : 1); // unmounted
    const request = Buffer.from(buffer.subarray(0, length));
    if (request.readUInt32LE(4) === INIT) initialize(request);
    else if (silent && request.readUInt32LE(4) !== INTERRUPT) held.push(request);
    else answer(request);
    next();
  });
}

createInterface({ input: process.stdin }).on("line", (line) => {
  silent = line === "silent";
  if (!silent) for (const request of held.splice(0)) answer(request);
  console.log(line);
});
next();
