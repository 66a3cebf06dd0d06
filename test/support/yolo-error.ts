import { YoloError } from '../../lib/index.js';

/** What the work rejects with; anything but a YoloError fails the test. `what` names it in that case. */
export async function yoloErrorOf(work: Promise<unknown>, what = 'the work'): Promise<YoloError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!YoloError.is(error)) throw new Error(`Expected a YoloError of ${what} but received ${error}`, { cause: error });
  return error;
}
