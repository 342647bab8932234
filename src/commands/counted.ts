/** `1 request`, `2 requests`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

/** `2 rejected rows and 1 failing group`; empty where there are none. */
export function exceptionsText(rejected: number, failing: number): string {
  const exceptions = [
    [rejected, "rejected row"],
    [failing, "failing group"],
  ] as const;
  return exceptions.flatMap(([count, noun]) => (count > 0 ? [counted(count, noun)] : [])).join(" and ");
}
