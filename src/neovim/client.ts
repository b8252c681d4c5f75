/** Connects the private host to Neovim. */
import { Transform } from "node:stream";
import { NeovimClient } from "neovim/lib/api/client.js";

class Client extends NeovimClient {
  /**
   * Skips the request for Neovim's API, which would delay the start. The client would only need the channel id in the
   * answer.
   */
  override async requestApi(): Promise<[number]> {
    return [0];
  }
}

/** Connects over standard input and output. */
export function connect(): NeovimClient {
  const { error, warn } = console;
  const client = new Client(); // its logger replaces the functions of `console`
  client.logger.level = "error"; // otherwise, the client formats each message for the log
  // Sends console output to standard error, because standard output is the RPC channel. Lua keeps the last lines.
  Object.assign(console, { error, warn, log: error, info: error, debug: error });
  client.attach({ reader: process.stdin.pipe(new Messages()), writer: process.stdout });
  return client;
}

/** Returns the number of bytes that hold the length of a msgpack value. These bytes follow the type byte. */
function sizeOfLength(type: number): number {
  if (type >= 0xc4 && type <= 0xc9) return 1 << ((type - 0xc4) % 3); // msgpack binary or extension
  if (type >= 0xd9 && type <= 0xdb) return 1 << (type - 0xd9); // msgpack text
  if (type >= 0xdc && type <= 0xdf) return 2 << (type & 1); // msgpack list or map
  return 0;
}

/**
 * Returns the number of payload bytes and of nested values that follow the head (type and length) of a msgpack value.
 */
function extent(type: number, length: number): [bytes: number, values: number] {
  if (type >= 0x80 && type <= 0x8f) return [0, (type & 0x0f) * 2];
  if (type >= 0x90 && type <= 0x9f) return [0, type & 0x0f];
  if (type >= 0xa0 && type <= 0xbf) return [type & 0x1f, 0];
  if (type === 0xdc || type === 0xdd) return [0, length];
  if (type === 0xde || type === 0xdf) return [0, length * 2];
  if (type >= 0xc7 && type <= 0xc9) return [length + 1, 0];
  if (type === 0xca || type === 0xcb) return [4 << (type & 1), 0];
  if (type >= 0xcc && type <= 0xd3) return [1 << (type & 3), 0];
  if (type >= 0xd4 && type <= 0xd8) return [(1 << (type - 0xd4)) + 1, 0];
  return [length, 0];
}

/**
 * Passes on complete msgpack messages only. The client's decoder copies its whole buffer for each chunk of 64 KB: for a
 * text of 10 MB, it would copy 800 MB.
 */
export class Messages extends Transform {
  /** Scanned pieces of a message that is not complete yet. */
  #pieces: Buffer[] = [];
  /** Number of payload bytes before the head (type and length) of the next value. */
  #skip = 0;
  /** Number of values that the message still needs; 0 between two messages. */
  #values = 0;
  /** First bytes of a head (type and length) that is not complete yet. */
  #cut: Buffer = Buffer.alloc(0);

  override _transform(piece: Buffer, _encoding: BufferEncoding, done: () => void): void {
    const bytes = this.#cut.length > 0 ? Buffer.concat([this.#cut, piece]) : piece;
    const [complete, read] = this.#scan(bytes);
    if (complete > 0) {
      this.push(Buffer.concat([...this.#pieces, bytes.subarray(0, complete)]));
      this.#pieces = [];
    }
    if (read > complete) this.#pieces.push(bytes.subarray(complete, read));
    this.#cut = bytes.subarray(read);
    done();
  }

  /** Scans more bytes. @returns the end of the last complete message, and the end of the scanned bytes */
  #scan(bytes: Buffer): [complete: number, read: number] {
    let at = 0;
    let complete = 0;
    while (at < bytes.length) {
      const skipped = Math.min(this.#skip, bytes.length - at);
      at += skipped;
      this.#skip -= skipped;
      if (this.#skip === 0 && this.#values === 0) complete = at;
      const type = bytes[at];
      if (type === undefined) break;
      const size = sizeOfLength(type);
      if (at + 1 + size > bytes.length) break;
      const [follow, within] = extent(type, size > 0 ? bytes.readUIntBE(at + 1, size) : 0);
      at += 1 + size;
      this.#skip = follow;
      this.#values = (this.#values === 0 ? 1 : this.#values) - 1 + within;
      if (this.#skip === 0 && this.#values === 0) complete = at;
    }
    return [complete, at];
  }
}
