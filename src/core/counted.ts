/** `1 request`, `2 requests`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

/** `2 deletions and 1 replacement`; what there is none of is left out. */
export const countedList = (counts: readonly (readonly [count: number, noun: string])[]): string =>
  new Intl.ListFormat("en").format(
    counts.flatMap(([count, noun]) => (count > 0 ? [counted(count, noun)] : [])),
  );
