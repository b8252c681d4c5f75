/** An error whose message is a sentence for the user or the CLI; what any other error says stays in the log. */
export class Refusal extends Error {
  override readonly name: string = "Refusal";
}

/** What the user is told of an error; the rest is in the log. */
export function sentence(error: unknown): string {
  return error instanceof Refusal ? error.message : "the bridge failed; see :GeminiLog";
}
