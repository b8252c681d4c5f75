/** The system's name for what went wrong, such as `ENOSPC`; of another error what it says. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}
