import type { LanePlan } from '../../lib/runtime/backend.js';

/** Asks for the raw outputs of a model whose input is a square. */
export function rawPlan(side: number): LanePlan {
  return {
    inputWidth: side,
    inputHeight: side,
    format: { layout: 'nchw', type: 'float32', channelOrder: 'rgb', divisor: 255, letterbox: { placement: 'centre' } },
    head: null,
    suppression: { confidenceThreshold: 0.25, iouThreshold: 0.7, classAgnostic: false, maxDetections: 300 },
  };
}
