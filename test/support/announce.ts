import { sharedDir } from './shared.js';

/** Said once, before the tests: reporters show that tests are skipped, not why. */
export default function announce(): void {
  if (sharedDir === undefined)
    console.warn(
      'Tests on real models and photos are skipped: there is no folder ../shared, nor one that YOLO_SHARED_DIR names.',
    );
}
