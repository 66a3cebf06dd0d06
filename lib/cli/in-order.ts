/**
 * Works on several items at once and gives the results in the order of the items. At most `limit` results are under way or
 * wait to be taken. When it ends early, by a rejection or by its user, it first waits for what is under way.
 */
export async function* inOrder<T, R>(
  items: readonly T[],
  limit: number,
  work: (item: T, index: number) => Promise<R>,
): AsyncGenerator<R, void, undefined> {
  const underWay: Promise<R>[] = [];
  try {
    for (const [index, item] of items.entries()) {
      if (underWay.length === limit) yield await underWay.shift()!;
      const result = work(item, index);
      // It may fail before its turn has come.
      result.catch(() => {});
      underWay.push(result);
    }
    for (;;) {
      const result = underWay.shift();
      if (result === undefined) return;
      yield await result;
    }
  } finally {
    await Promise.allSettled(underWay);
  }
}
