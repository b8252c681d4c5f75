/** Returns the code of a system error, such as `ENOSPC`, or the text of any other error. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}
