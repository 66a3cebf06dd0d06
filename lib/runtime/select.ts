import { YoloError } from '../errors.js';

export interface DeviceChoice {
  readonly device: 'cpu';
  /** Why `'auto'` did not take a GPU; undefined where the device was asked for. */
  readonly fallbackReason?: string;
}

const NO_GPU_YET = 'this version has no GPU backend yet, see docs/hardware-status.md';

/**
 * The device that a detector runs on. `'auto'` takes the best that can be used and says why it is no better one.
 * @throws ERR_YOLO_NO_DEVICE for a device that was asked for and cannot be used: a choice never falls back.
 */
export function selectDevice(wanted: string): DeviceChoice {
  if (wanted === 'auto') return { device: 'cpu', fallbackReason: NO_GPU_YET };
  if (wanted === 'cpu') return { device: 'cpu' };
  throw new YoloError('ERR_YOLO_NO_DEVICE', `Device '${wanted}' cannot be used: ${NO_GPU_YET}. Use 'auto' or 'cpu'`, {
    phase: 'load',
    detail: { device: wanted },
  });
}
