import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { channelMeter } from '../support/channel-meter.js';
import { ownCacheFolder } from '../support/default-detector.js';
import { slowModel } from '../support/slow-model.js';
import { command } from './command.js';

const cwd = realpathSync(mkdtempSync(join(tmpdir(), 'yolo-inspect-')));
afterAll(() => rmSync(cwd, { recursive: true, force: true }));
const here = { cwd, cacheFolder: ownCacheFolder() };

beforeAll(() => {
  writeFileSync(join(cwd, 'meter.onnx'), channelMeter({ openBatch: true }));
  writeFileSync(join(cwd, 'other.onnx'), slowModel(1));
  writeFileSync(join(cwd, 'notes.onnx'), 'no model');
});

describe('migraphx-yolo inspect', () => {
  it('shows inputs, outputs, how the model is fed and read, why, labels and metadata', async () => {
    const { code, stdout, stderr } = await command(['inspect', 'meter.onnx'], here);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const sections = new Map(
      stdout.split('\n\n').map((section) => {
        const [title, ...lines] = section.trimEnd().split('\n');
        return [title!, lines.map((line) => line.trim())];
      }),
    );
    expect(sections.get('meter.onnx')![0]).toBe(join(cwd, 'meter.onnx'));
    expect(sections.get('meter.onnx')![1]).toMatch(/operators of ONNX 13; IR version \d+$/);
    expect(sections.get('Inputs')).toEqual(['images float32 [batch, 3, 64, 64]']);
    expect(sections.get('Outputs')).toEqual(['output0 float32 [batch, 3, 6]']);
    expect(sections.get('Read by')).toEqual(['head end-to-end, as Ultralytics models are']);
    expect(sections.get('Fed with')).toEqual([
      '64×64 pixels, any number of pictures a run',
      'nchw float32, RGB, levels / 255, letterbox centre',
    ]);
    expect(sections.get('Evidence')!.length).toBeGreaterThan(0);
    expect(sections.get('Labels (3)')).toEqual(['first, second, third']);
    expect(sections.get('Metadata')).toEqual([
      "names: {0: 'first', 1: 'second', 2: 'third'}",
      'task: detect',
      'stride: 32',
    ]);
  });

  it('prints the same as JSON', async () => {
    const { code, stdout } = await command(['inspect', 'meter.onnx', '--json'], here);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      name: 'meter.onnx',
      path: join(cwd, 'meter.onnx'),
      opsets: { '': 13 },
      inputs: [{ name: 'images', type: 'float32', dims: ['batch', 3, 64, 64] }],
      outputs: [{ name: 'output0', type: 'float32', dims: ['batch', 3, 6] }],
      inputWidth: 64,
      inputHeight: 64,
      batch: 'dynamic',
      head: 'end-to-end',
      labels: ['first', 'second', 'third'],
      metadata: { task: 'detect' },
      evidence: expect.arrayContaining([expect.stringContaining('rows of x1, y1, x2, y2, score, class')]),
      assumed: expect.any(Array),
      refusal: null,
    });
  });

  it('shows the file of a model that is refused all the same, says why, and ends with 1', async () => {
    const { code, stdout, stderr } = await command(['inspect', 'other.onnx'], here);
    expect(code).toBe(1);
    expect(stdout).toContain('Inputs\n  images float32 [1, 3, 64, 64]\n');
    expect(stdout).toContain('Outputs\n  20 float32 [1, 64]\n  10 float32 [1, 64]\n');
    expect(stdout).toContain('Refused\n  ERR_YOLO_HEAD_UNKNOWN\n');
    expect(stdout).not.toContain('Metadata');
    expect(stderr).toMatch(/^error: The model's outputs .*20 float32 \[1, 64\]/);
    const json = await command(['inspect', 'other.onnx', '--json'], here);
    expect(json.code).toBe(1);
    const { outputs, metadata, refusal } = JSON.parse(json.stdout);
    expect([outputs.length, metadata, refusal.code]).toEqual([2, {}, 'ERR_YOLO_HEAD_UNKNOWN']);
    expect(json.stderr).toBe(`error: ${refusal.message}\n`);
  });

  it('takes a head and anchors, and ends with 2 where there are none of that name', async () => {
    const given = await command(['inspect', 'meter.onnx', '--json', '--head', 'end-to-end'], here);
    expect([given.code, JSON.parse(given.stdout).head]).toEqual([0, 'end-to-end']);
    const head = await command(['inspect', 'meter.onnx', '--head', 'end'], here);
    expect([head.code, head.stderr]).toEqual([
      2,
      expect.stringMatching(/^error: Expected head to be one of end-to-end, /),
    ]);
    const anchors = await command(['detect', 'a.jpg', '--model', 'meter.onnx', '--anchors', 'yolov9'], here);
    expect([anchors.code, anchors.stderr]).toEqual([2, expect.stringContaining('Allowed choices are yolov5, yolov7.')]);
  });

  it('tells a size that the model does not take, and shows the file', async () => {
    const { code, stdout, stderr } = await command(['inspect', 'meter.onnx', '--image-size', '640x480'], here);
    expect(code).toBe(2);
    expect(stdout).toContain('Refused\n  ERR_YOLO_INVALID_ARGUMENT\n');
    expect(stderr).toMatch(/^error: The model takes 64×64 pixels only/);
  });

  it.each([
    ['notes.onnx', /^error: .*notes\.onnx is no ONNX model/],
    ['nowhere.onnx', /^error: There is no model file .*nowhere\.onnx/],
  ])('ends with 1 and prints nothing to stdout for %s', async (file, message) => {
    const { code, stdout, stderr } = await command(['inspect', file, '--json'], here);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(message);
  });

  it('lets no name of a file or in it reach the terminal as control characters', async () => {
    const metadata = { 'na\x1b[2Jme': 'one\n\x1b]0;title\x07two', long: 'x'.repeat(1000) };
    writeFileSync(join(cwd, 'evil.onnx'), channelMeter({ metadata }));
    const { code, stdout } = await command(['inspect', 'evil.onnx'], here);
    expect(code).toBe(0);
    expect(stdout).toContain('  na\ufffd[2Jme: one \ufffd]0;title\ufffdtwo\n');
    expect(stdout).toContain(`  long: ${'x'.repeat(99)}…\n`);
  });

  it('shows the default model where none is given', async () => {
    const { code, stdout } = await command(['inspect', '--json'], here);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ isDefault: true, head: 'end-to-end', refusal: null });
  });
});
