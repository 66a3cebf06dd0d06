import { readFileSync } from 'node:fs';
import type { Detection, DetectOptions } from '../../lib/index.js';
import { type CocoTruth, evaluateCoco } from './coco-eval.js';
import { shared } from './shared.js';

/** Photos with labels, as a COCO file has them. */
export interface Truth extends CocoTruth {
  readonly images: readonly { readonly id: number; readonly file_name: string }[];
  readonly categories: readonly { readonly id: number; readonly name: string }[];
}

/** Precision asks for faint boxes too. */
export const LOW_CONFIDENCE = 0.01;

export function evaluationTruth(): Truth {
  return JSON.parse(readFileSync(shared('photos/coco/evaluation.json'), 'utf8'));
}

/** A detector, of the sources or of the built library. */
interface Detects {
  detect(path: string, options: DetectOptions): Promise<Iterable<Detection>>;
}

/** What a detector of COCO's classes reaches on the photos with labels; with `only`, of the one category of that name. */
export async function averagePrecision(detector: Detects, only?: string): Promise<number> {
  const truth = evaluationTruth();
  const categories = truth.categories.map(({ id }) => id).sort((a, b) => a - b);
  const options = { confidenceThreshold: LOW_CONFIDENCE, maxDetections: 100 };
  const perImage = await Promise.all(
    truth.images.map(async ({ id, file_name: file }) => {
      const found = await detector.detect(shared(`photos/coco/evaluation/${file}`), options);
      return [...found].map(({ xyxy: [x1, y1, x2, y2], confidence, classId }) => ({
        image_id: id,
        category_id: categories[classId]!,
        bbox: [x1, y1, x2 - x1, y2 - y1],
        score: confidence,
      }));
    }),
  );
  const judged = truth.categories.filter(({ name }) => only === undefined || name === only);
  return evaluateCoco({ ...truth, categories: judged }, perImage.flat()).stats.AP;
}

/** What the reference pipeline reaches with that model. */
export function goldenPrecision(model: string): number {
  return JSON.parse(readFileSync(shared('golden/coco/scores.json'), 'utf8')).models[model].stats.AP;
}
