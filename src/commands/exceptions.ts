/** `2 rejected rows and 1 failing group`; empty where there are none. */
export function exceptionsText(rejected: number, failing: number): string {
  return [counted(rejected, "rejected row"), counted(failing, "failing group")]
    .filter((text) => text !== "")
    .join(" and ");
}

const counted = (count: number, what: string): string =>
  count === 0 ? "" : `${count} ${what}${count === 1 ? "" : "s"}`;
