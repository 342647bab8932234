/** Makes a value of the failures that are expected: `call.catch(expected(isMissing, undefined))`. */
export const expected =
  <T>(isExpected: (error: unknown) => boolean, value: T) =>
  (error: unknown): T => {
    if (!isExpected(error)) throw error;
    return value;
  };
