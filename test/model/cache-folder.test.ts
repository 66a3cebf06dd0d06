import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cacheFolder } from '../../lib/model/cache-folder.js';

describe('cacheFolder', () => {
  it('is the folder of the caller before that of the environment', () => {
    expect(cacheFolder('mine', { env: { MIGRAPHX_YOLO_CACHE: '/other' } })).toBe(resolve('mine'));
  });

  it('is the folder of MIGRAPHX_YOLO_CACHE before that of the platform', () => {
    expect(cacheFolder(undefined, { env: { MIGRAPHX_YOLO_CACHE: '/other', XDG_CACHE_HOME: '/xdg' } })).toBe('/other');
  });

  it('takes an empty MIGRAPHX_YOLO_CACHE as none', () => {
    const env = { MIGRAPHX_YOLO_CACHE: '', XDG_CACHE_HOME: '/xdg' };
    expect(cacheFolder(undefined, { env, platform: 'linux' })).toBe('/xdg/migraphx-yolo');
  });

  it.each<[NodeJS.Platform, NodeJS.ProcessEnv, string]>([
    ['linux', {}, join(homedir(), '.cache', 'migraphx-yolo')],
    ['linux', { XDG_CACHE_HOME: 'relative' }, join(homedir(), '.cache', 'migraphx-yolo')],
    ['freebsd', { XDG_CACHE_HOME: '/xdg' }, '/xdg/migraphx-yolo'],
    ['darwin', { XDG_CACHE_HOME: '/xdg' }, join(homedir(), 'Library', 'Caches', 'migraphx-yolo')],
    ['win32', { LOCALAPPDATA: '/local' }, join('/local', 'migraphx-yolo', 'Cache')],
    ['win32', {}, join(homedir(), 'AppData', 'Local', 'migraphx-yolo', 'Cache')],
  ])('follows the custom of %s with %o', (platform, env, expected) => {
    expect(cacheFolder(undefined, { env, platform })).toBe(expected);
  });
});
