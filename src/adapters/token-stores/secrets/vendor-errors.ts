/** Turns an expected failure into a value: `call.catch(expected(isMissing, undefined))`. */
export const expected =
  <T>(isExpected: (error: unknown) => boolean, value: T) =>
  (error: unknown): T => {
    if (!isExpected(error)) throw error;
    return value;
  };

/** The error's code, such as ENOENT or ERR_MODULE_NOT_FOUND; empty if it has none. */
export const systemCodeOf = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";

/**
 * Whether a retry is useless: the name doesn't resolve, a certificate is bad, or the answer isn't HTTP or never ends.
 */
export const isForGood = (systemCode: string): boolean =>
  /^ENOTFOUND$|^ERR_TLS|^ERR_SSL|CERT|SIGNATURE|ISSUER|^EPROTO$|^HPE_|^UND_ERR_RES_EXCEEDED/.test(systemCode);

/** Parses a `Retry-After` header in seconds. Returns milliseconds; undefined if there is none, or none in this form. */
export function retryAfterMs(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,6}$/.test(header.trim()) ? Number(header) * 1000 : undefined;
}
