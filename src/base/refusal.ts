/** An error whose message is shown to the user or the CLI. The messages of all other errors are only logged. */
export class Refusal extends Error {
  override readonly name: string = "Refusal";
}

/** Returns a message for the user: the message of a `Refusal`, or a general message for any other error. */
export function sentence(error: unknown): string {
  return error instanceof Refusal ? error.message : "the bridge failed; see :GeminiLog";
}
