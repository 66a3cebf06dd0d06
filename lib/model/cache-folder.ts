import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';

const NAME = 'migraphx-yolo';

/**
 * The folder for files that can be made again: `chosen`, else the variable MIGRAPHX_YOLO_CACHE, else the user's cache folder by
 * the custom of the platform ($XDG_CACHE_HOME or ~/.cache; ~/Library/Caches; %LOCALAPPDATA%) with this package's name added.
 * Absolute; it need not exist. Undefined where the user has no home folder (a container with an unnamed user).
 */
export function cacheFolder(
  chosen?: string,
  { env = process.env, platform = process.platform }: { env?: NodeJS.ProcessEnv; platform?: NodeJS.Platform } = {},
): string | undefined {
  const named = chosen || env.MIGRAPHX_YOLO_CACHE;
  if (named) return resolve(named);

  let home: string;
  try {
    home = homedir();
  } catch {
    return undefined;
  }
  if (platform === 'win32') return join(env.LOCALAPPDATA || join(home, 'AppData', 'Local'), NAME, 'Cache');
  if (platform === 'darwin') return join(home, 'Library', 'Caches', NAME);
  // The XDG specification has relative paths ignored.
  const xdg = env.XDG_CACHE_HOME;
  return join(xdg && isAbsolute(xdg) ? xdg : join(home, '.cache'), NAME);
}
