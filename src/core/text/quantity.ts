/** `1 request`, `2 requests`. */
export const quantity = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

/** `2 deletions and 1 replacement`, without those whose count is 0. */
export const quantities = (counts: readonly (readonly [count: number, noun: string])[]): string =>
  new Intl.ListFormat("en").format(
    counts.flatMap(([count, noun]) => (count > 0 ? [quantity(count, noun)] : [])),
  );
