/**
 * Boxes that a head found, before suppression: xyxy in input pixels, confidence, class; a column each.
 * Grows by doubling and is reused from picture to picture, so that decoding allocates nothing per box.
 */
export class Candidates {
  length = 0;
  /** Whether a head appends a box once for each class above the threshold, instead of for its best class only. Read by heads, kept by `clear()`. */
  multiLabel = false;
  /** [length, 4], x1, y1, x2, y2 in input pixels. */
  xyxy = new Float32Array(4 * 256);
  confidence = new Float32Array(256);
  classId = new Int32Array(256);
  /** Values that each box has beside these (keypoints, mask coefficients, an angle); 0 where it has none. */
  extraSize = 0;
  /** [length, extraSize], filled by `setExtra()`. */
  extra = new Float32Array(0);

  clear(): void {
    this.length = 0;
    this.extraSize = 0;
  }

  push(x1: number, y1: number, x2: number, y2: number, confidence: number, classId: number): void {
    const n = this.length;
    if (n === this.confidence.length) this.#grow();
    this.xyxy[4 * n] = x1;
    this.xyxy[4 * n + 1] = y1;
    this.xyxy[4 * n + 2] = x2;
    this.xyxy[4 * n + 3] = y2;
    this.confidence[n] = confidence;
    this.classId[n] = classId;
    this.length = n + 1;
  }

  /** Gives the box that was pushed last `size` values of `data`, from `start`, `step` apart. Either every box has them or none. */
  setExtra(data: Float32Array, start: number, step: number, size: number): void {
    this.extraSize = size;
    if (this.extra.length < this.length * size) {
      const { extra } = this;
      this.extra = new Float32Array(this.confidence.length * size);
      this.extra.set(extra);
    }
    const to = (this.length - 1) * size;
    for (let i = 0; i < size; i++) this.extra[to + i] = data[start + i * step];
  }

  /** Drops the boxes that are not wanted; the others keep their order. */
  keep(isWanted: (classId: number, confidence: number) => boolean): void {
    const { xyxy, confidence, classId, extra, extraSize, length } = this;
    let kept = 0;
    for (let i = 0; i < length; i++) {
      if (!isWanted(classId[i], confidence[i])) continue;
      xyxy.copyWithin(4 * kept, 4 * i, 4 * i + 4);
      confidence[kept] = confidence[i];
      classId[kept] = classId[i];
      extra.copyWithin(extraSize * kept, extraSize * i, extraSize * (i + 1));
      kept++;
    }
    this.length = kept;
  }

  #grow(): void {
    const capacity = this.confidence.length * 2;
    const { xyxy, confidence, classId } = this;
    this.xyxy = new Float32Array(4 * capacity);
    this.xyxy.set(xyxy);
    this.confidence = new Float32Array(capacity);
    this.confidence.set(confidence);
    this.classId = new Int32Array(capacity);
    this.classId.set(classId);
  }
}
