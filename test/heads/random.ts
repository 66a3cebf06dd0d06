/** Random values of a network's outputs, float32, always the same for a seed; now and then one that is no number. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** 0..1, 1 excluded: a Weyl sequence, its bits mixed. */
  next(): number {
    this.#state = (this.#state + 0x9e3779b9) | 0;
    let word = this.#state;
    word = Math.imul(word ^ (word >>> 16), 0x21f0aaad);
    word = Math.imul(word ^ (word >>> 15), 0x735a2d97);
    return ((word ^ (word >>> 15)) >>> 0) / 2 ** 32;
  }

  /** A whole number from 0, below `end`. */
  below(end: number): number {
    return Math.floor(this.next() * end);
  }

  between(least: number, most: number): number {
    return Math.fround(least + this.next() * (most - least));
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)];
  }

  /** The value, or rarely NaN or an infinity. */
  orStrange(value: number): number {
    return this.below(40) === 0 ? this.pick([Number.NaN, Infinity, -Infinity]) : value;
  }

  pixels(count: number): number[] {
    return Array.from({ length: count }, () => this.orStrange(this.between(-40, 80)));
  }

  fractions(count: number): number[] {
    return Array.from({ length: count }, () => this.orStrange(this.between(0, 1)));
  }

  /** Centre, width and height. */
  rotatedBox(): number[] {
    return [...this.pixels(2), this.orStrange(this.between(0, 60)), this.orStrange(this.between(0, 60))];
  }

  /** 0..1, often equal to others or to a threshold; rarely NaN. */
  score(): number {
    if (this.below(20) === 0) return Number.NaN;
    return this.below(3) === 0 ? Math.fround(this.pick([0, 0.25, 0.3, 0.5, 1])) : this.between(0, 1);
  }

  scores(count: number): number[] {
    return Array.from({ length: count }, () => this.score());
  }

  /** Sixteenths from -8 to 8, so that different ones have different scores. */
  logits(count: number): number[] {
    return Array.from({ length: count }, () => (this.below(80) === 0 ? Number.NaN : (this.below(257) - 128) / 16));
  }
}
