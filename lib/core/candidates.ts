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

  clear(): void {
    this.length = 0;
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
