/**
 * Serves JSON-RPC on standard input and output, as a language server does.
 * @returns a function that sends a message
 */
export function serve(receive) {
  let buffer = Buffer.alloc(0);
  process.stdin.on("data", (data) => {
    buffer = Buffer.concat([buffer, data]);
    for (;;) {
      const end = buffer.indexOf("\r\n\r\n");
      const length = Number(
        /Content-Length: (\d+)/i.exec(buffer.subarray(0, Math.max(end, 0)).toString())?.[1],
      );
      if (end < 0 || buffer.length < end + 4 + length) return;
      receive(JSON.parse(buffer.subarray(end + 4, end + 4 + length).toString()));
      buffer = buffer.subarray(end + 4 + length);
    }
  });
  process.stdin.on("end", () => process.exit(0));
  return (message) => {
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
    process.stdout.write(`Content-Length: ${body.length}\r\n\r\n`);
    process.stdout.write(body);
  };
}
