export type Strides = readonly number[];

const STRIDE_SETS: readonly Strides[] = [
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
): Strides | undefined {
  return STRIDE_SETS.find((strides) => {
    const cells = strides.reduce(
      (sum, stride) => sum + cellsAcross(inputWidth, stride) * cellsAcross(inputHeight, stride),
      0,
    );
    return cells * anchorsPerCell === rows;
  });
}

/** Cells along one side: a network pads what is not a whole number of strides. */
function cellsAcross(side: number, stride: number): number {
  return Math.ceil(side / stride);
}

/** The cell that a row belongs to: strides in their order, cells line by line, one row a cell. */
export function cellOf(
  row: number,
  strides: Strides,
  inputWidth: number,
  inputHeight: number,
): { column: number; line: number; stride: number } {
  let rest = row;
  let stride = strides[0];
  for (const candidate of strides) {
    stride = candidate;
    const cells = cellsAcross(inputWidth, stride) * cellsAcross(inputHeight, stride);
    if (rest < cells) break;
    rest -= cells;
  }
  const across = cellsAcross(inputWidth, stride);
  return { column: rest % across, line: Math.floor(rest / across), stride };
}
