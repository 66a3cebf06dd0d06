/** A value as messages show it: short, with its type, never its contents. */
export function show(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === 'string')
    return `${JSON.stringify(value.length > 80 ? `${value.slice(0, 77)}...` : value)} (string)`;
  if (typeof value === 'function') return 'a function';
  if (typeof value !== 'object') return `${String(value).slice(0, 80)} (${typeof value})`;
  if (Array.isArray(value)) return `an array of ${value.length}`;
  const kind: unknown = Object.getPrototypeOf(value)?.constructor?.name;
  return `an object (${typeof kind === 'string' && kind !== '' ? kind.slice(0, 80) : 'object'})`;
}
