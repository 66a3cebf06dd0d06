import type { ModelSignature } from './head.js';

export type Output = ModelSignature['outputs'][number];

/** What an output must be to play a part: its shape and type decide, its name only where more than one would do. */
export interface Role {
  readonly fits: (output: Output) => boolean;
  readonly name?: RegExp;
}

/** One output for each role, every output used; undefined when they cannot be told apart. */
export function assignRoles(outputs: readonly Output[], roles: readonly Role[]): Output[] | undefined {
  if (outputs.length !== roles.length) return undefined;
  const ways = assignments(outputs, roles);
  if (ways.length <= 1) return ways[0];
  const namesOf = (way: readonly Output[]) => way.filter((output, i) => roles[i].name?.test(output.name)).length;
  const [best, second] = [...ways].sort((a, b) => namesOf(b) - namesOf(a));
  return namesOf(best) > namesOf(second) ? best : undefined;
}

function assignments(outputs: readonly Output[], [role, ...others]: readonly Role[]): Output[][] {
  if (role === undefined) return [[]];
  return outputs.filter(role.fits).flatMap((output) =>
    assignments(
      outputs.filter((other) => other !== output),
      others,
    ).map((rest) => [output, ...rest]),
  );
}

/** Whether an output counts or numbers something. */
export function isWhole({ type }: Output): boolean {
  return type === 'int32' || type === 'int64';
}

/** Rows of four values for one picture, [1, K, 4] or [1, K, 1, 4]; how many of them, else undefined. */
export function boxRows({ dims, type }: Output): number | undefined {
  if (dims.length < 3 || dims.length > 4 || dims.at(-1) !== 4 || type.startsWith('int')) return undefined;
  return dims.length === 3 || dims[2] === 1 ? dims[1] : undefined;
}

/** Whether an output is one value for each of `rows`, [1, K]. */
export function isColumn({ dims }: Output, rows: number): boolean {
  return dims.length >= 2 && dims[1] === rows && dims.slice(2).every((dim) => dim === 1);
}
