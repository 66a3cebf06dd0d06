/** Waits until it is written: the reader of stdout may be slower than the model. A failure comes as the signal's reason. */
export async function print(text: string, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => process.stdout.write(text, () => resolve()));
  signal.throwIfAborted();
}
