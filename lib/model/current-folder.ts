/** The current directory; '.' where it was removed, which makes `process.cwd()` throw. */
export function currentFolder(): string {
  try {
    return process.cwd();
  } catch {
    return '.';
  }
}
