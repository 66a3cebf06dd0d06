/** Rounded to float32, as scores that a graph computes are. */
export function sigmoid(logit: number): number {
  return Math.fround(1 / (1 + Math.exp(-logit)));
}

/** Just below the logit whose sigmoid is `score`, so that whatever is not above it need not be computed. */
export function logitBelow(score: number): number {
  return Math.log(score / (1 - score)) - 1e-3;
}

/** Says so when logits could be scores as well: all of them lie from 0 to 1. */
export function logitsContradiction(data: Float32Array, what: string): string | undefined {
  return data.every((value) => value >= 0 && value <= 1)
    ? `${what} all lie from 0 to 1, so they are scores already`
    : undefined;
}
