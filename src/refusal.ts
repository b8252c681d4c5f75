/** An error whose message is a sentence for the user or the CLI; what any other error says stays in the log. */
export class Refusal extends Error {
  override readonly name: string = "Refusal";
}
