const STRIDE_SETS: readonly (readonly number[])[] = [
  [8, 16, 32],
  [16, 32],
  [8, 16, 32, 64],
  [4, 8, 16, 32],
];

/** The strides, finest first, whose cells make up `rows` with so many anchors a cell; undefined when none do. */
export function stridesFor(
  rows: number,
  inputWidth: number,
  inputHeight: number,
  anchorsPerCell: number,
): readonly number[] | undefined {
  return STRIDE_SETS.find((strides) => {
    const cells = strides.reduce(
      (sum, stride) => sum + cellsAcross(inputWidth, stride) * cellsAcross(inputHeight, stride),
      0,
    );
    return cells * anchorsPerCell === rows;
  });
}

/** Cells along one side: a network pads what is not a whole number of strides. */
export function cellsAcross(side: number, stride: number): number {
  return Math.ceil(side / stride);
}
