/** For an option that may be given several times. */
export const repeatable = (value: string, values: readonly string[] = []): readonly string[] => [
  ...values,
  value,
];
