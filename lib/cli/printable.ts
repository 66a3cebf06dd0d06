/** A text for the terminal: names of files and classes may hold control characters, which could rewrite what is on it. */
export function printable(text: string): string {
  return text.replace(/(?!\n)\p{Cc}/gu, '\u{fffd}');
}
