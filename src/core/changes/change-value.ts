/**
 * Compares two values of one change column by their texts: negative if the first is lower, 0 if they are equal. The texts are
 * numbers or times as the databases write them. Texts of times are ordered as the times are.
 */
export function compareValues(one: string, other: string): number {
  const first = NUMBER.exec(one);
  const second = NUMBER.exec(other);
  if (first && second) {
    const digits = Math.max(first[2]?.length ?? 0, second[2]?.length ?? 0);
    return order(scaled(first, digits), scaled(second, digits));
  }
  const numbers = [Number(one), Number(other)] as const;
  return numbers.some(Number.isNaN) ? order(one, other) : order(...numbers);
}

/** Without the infinities, which `numeric` has. */
const NUMBER = /^(-?\d+)(?:\.(\d+))?$/;

const scaled = ([, whole = "", fraction = ""]: RegExpExecArray, digits: number): bigint =>
  BigInt(whole + fraction.padEnd(digits, "0"));

const order = <T extends bigint | number | string>(one: T, other: T): number =>
  one < other ? -1 : Number(one > other);
