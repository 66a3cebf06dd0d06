import { mkdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/**
 * Makes a folder and those above it; one that is there is fine. Not `mkdir` with `recursive`: where the system says that
 * a folder's parent is missing although it is there, as in /proc, Node tries for ever.
 */
export async function makeFolder(folder: string): Promise<void> {
  const path = resolve(folder);
  try {
    return await mkdir(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && dirname(path) !== path) {
      await makeFolder(dirname(path));
      return await mkdir(path).catch(unlessFolder(path));
    }
    return unlessFolder(path)(error);
  }
}

/** Two processes may make the same folder at once. */
function unlessFolder(path: string) {
  return async (error: unknown): Promise<void> => {
    const isFolder = await stat(path).then(
      (stats) => stats.isDirectory(),
      () => false,
    );
    if (!isFolder) throw error;
  };
}
