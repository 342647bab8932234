/** The text of an id as a database writes it. A column of the type holds no id with any other text. */
type IsText = (id: string) => boolean;

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const INTEGER = /^(0|-?[1-9]\d{0,19})$/;

export const isUuid: IsText = (id) => UUID.test(id);

/** An integer of this many bits. */
export const isInteger =
  (bits: number, unsigned = false): IsText =>
  (id) =>
    INTEGER.test(id) && BigInt(id) === (unsigned ? BigInt.asUintN : BigInt.asIntN)(bits, BigInt(id));

/** Text without half of a surrogate pair, which isn't UTF-8. */
export const isUnicode: IsText = (id) => Buffer.from(id).toString() === id;
