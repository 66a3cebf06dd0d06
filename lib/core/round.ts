/** The nearest whole number of a value of at least 0; halves go to the even neighbour, as in Python and in C's rint. */
export function roundHalfToEven(value: number): number {
  const rounded = Math.round(value);
  return rounded - value === 0.5 && rounded % 2 === 1 ? rounded - 1 : rounded;
}
