/** Scores by row and class: class c of row r is at `first + r * rowStep + c * classStep`. */
export interface ScoreTable {
  readonly data: Float32Array;
  readonly rows: number;
  readonly classCount: number;
  readonly first: number;
  readonly rowStep: number;
  readonly classStep: number;
}

/**
 * Calls `found` for each row whose best class, the first of equal ones, scores more than `confidenceThreshold`; with
 * `multiLabel` for every class that does.
 */
export function eachBestClass(
  { data, rows, classCount, first, rowStep, classStep }: ScoreTable,
  confidenceThreshold: number,
  multiLabel: boolean,
  found: (row: number, confidence: number, classId: number) => void,
): void {
  for (let row = 0; row < rows; row++) {
    let best = confidenceThreshold;
    let bestClass = -1;
    for (let classId = 0, at = first + row * rowStep; classId < classCount; classId++, at += classStep) {
      const confidence = data[at];
      if (!(confidence > best)) continue;
      if (multiLabel) {
        found(row, confidence, classId);
      } else {
        best = confidence;
        bestClass = classId;
      }
    }
    if (bestClass >= 0) found(row, best, bestClass);
  }
}
