/**
 * The shortest decimal that is nearer to this single-precision number than to any other, as PostgreSQL writes it; MySQL's
 * own text has six digits. Of two that are as near as each other, the even one.
 */
export function shortestDecimal(float: number): number {
  for (let digits = 1; digits < 9; digits++) {
    const rounded = Number(float.toPrecision(digits));
    if (isNearest(rounded, float)) return evenHalf(float, digits) ?? rounded;
  }
  return Number(float.toPrecision(9));
}

/** The middle between two belongs to neither. */
function isNearest(decimal: number, float: number): boolean {
  const mirrored = 2 * decimal - float;
  return Math.fround(decimal) === float && (decimal === float || Math.fround(mirrored) !== mirrored);
}

/** Halves are rounded up: the decimal below, where the number lies in the middle of both and that one is even. */
function evenHalf(float: number, digits: number): number | undefined {
  const exact = float.toExponential(digits);
  const [, even, exponent] = /^(.*[02468]\.?)5(e.*)$/.exec(exact) ?? [];
  if (even === undefined || Number(exact) !== float) return undefined;
  const below = Number(`${even}${exponent}`);
  return isNearest(below, float) ? below : undefined;
}
