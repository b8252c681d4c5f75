/** An error with a message for the user or the CLI. The messages of all other errors go only to the log. */
export class Refusal extends Error {
  override readonly name: string = "Refusal";
}

/** The message for the user. Errors other than a `Refusal` get a general message. */
export function sentence(error: unknown): string {
  return error instanceof Refusal ? error.message : "the bridge failed; see :GeminiLog";
}
