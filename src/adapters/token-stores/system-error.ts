/** Such as ENOENT or ERR_MODULE_NOT_FOUND; empty where the error has none. */
export const systemCodeOf = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";

/** Failures that time doesn't heal: names that don't resolve, certificates, and answers that aren't HTTP or have no end. */
export const isForGood = (systemCode: string): boolean =>
  /^ENOTFOUND$|^ERR_TLS|^ERR_SSL|CERT|SIGNATURE|ISSUER|^EPROTO$|^HPE_|^UND_ERR_RES_EXCEEDED/.test(systemCode);
