/** The longest id, in bytes of UTF-8: a primary key can hold it in every supported database. */
export const MAX_ID_BYTES = 512;

/** Whether a group can have this id. Not every database can be asked for any other text. */
export const isUsableId = (id: string): boolean =>
  id !== "" && !id.includes("\0") && Buffer.byteLength(id) <= MAX_ID_BYTES;

const SURROGATES = 0xd800;
const ABOVE_SURROGATES = 0xe000;

/**
 * Orders ids by their UTF-8 bytes, as `COLLATE "C"` and a binary cast do.
 * JavaScript's own `<` orders by UTF-16 code units, which puts U+10000 and above before U+E000 to U+FFFF.
 */
export function compareIds(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const left = a.charCodeAt(i);
    const right = b.charCodeAt(i);
    if (left !== right) return codePointRank(left) - codePointRank(right);
  }
  return a.length - b.length;
}

/** Ranks surrogates, which are halves of the highest code points, above every other code unit. */
function codePointRank(unit: number): number {
  if (unit < SURROGATES) return unit;
  return unit < ABOVE_SURROGATES ? unit + 0x2000 : unit - 0x800;
}
