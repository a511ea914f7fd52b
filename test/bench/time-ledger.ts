/** Divides a span of time among what went on in it: each instant belongs to the first of the activities that were under way. */

export interface Activity<Name extends string> {
  readonly name: Name;
  /** Milliseconds on any one clock. */
  readonly from: number;
  readonly to: number;
}

/**
 * Milliseconds of `span` per name, and `idle` for instants in which nothing was under way; all together they are the
 * span. `order`: where activities overlap, the name that comes first here gets the instant.
 */
export function divideTime<Name extends string>(
  span: { readonly from: number; readonly to: number },
  activities: readonly Activity<Name>[],
  order: readonly Name[],
): ReadonlyMap<Name | 'idle', number> {
  const edges = activities.flatMap((activity) => {
    const from = Math.max(activity.from, span.from);
    const to = Math.min(activity.to, span.to);
    if (!(to > from)) return [];
    const { name } = activity;
    return [
      { at: from, name, step: 1 },
      { at: to, name, step: -1 },
    ];
  });
  edges.sort((a, b) => a.at - b.at);
  const open = new Map<Name, number>();
  const spent = new Map<Name | 'idle', number>();
  let since = span.from;
  const book = (until: number) => {
    const name = order.find((one) => (open.get(one) ?? 0) > 0) ?? 'idle';
    spent.set(name, (spent.get(name) ?? 0) + until - since);
    since = until;
  };
  for (const { at, name, step } of edges) {
    book(at);
    open.set(name, (open.get(name) ?? 0) + step);
  }
  book(span.to);
  return spent;
}
