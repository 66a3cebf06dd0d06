import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { GraphModelFiles } from '../../lib/model/default-model-fetch.js';

/** The folder of the development dependency's models. */
export const MODELS = join(import.meta.dirname, '../../node_modules/@vladmandic/human/models');

export async function installedGraphModel(): Promise<GraphModelFiles> {
  return {
    topology: await readFile(join(MODELS, 'centernet.json')),
    weights: await readFile(join(MODELS, 'centernet.bin')),
  };
}
