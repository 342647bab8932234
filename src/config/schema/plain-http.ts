import { Secret } from "../../core/secret/secret.ts";
import { isPlainHttpToAnotherHost } from "../../core/tls/database-tls.ts";
import { flag } from "./scalars.ts";
import type { CrossCheck } from "./section.ts";

/** The key `allow_http`: whether the addresses of a section may be `http:` and lead to another host. */
export const allowHttp = flag.prefault(false);

/**
 * Refuses an address in one of these keys if it would send secrets in clear to another host, unless `allow_http` is
 * true.
 */
export const httpIsAllowed = (...keys: readonly string[]): CrossCheck =>
  function* (section) {
    if (section.allow_http === true) return;
    for (const key of keys) {
      const value = section[key];
      const address = value instanceof Secret ? value.reveal() : value;
      if (typeof address !== "string" || !URL.canParse(address)) continue;
      if (!isPlainHttpToAnotherHost(new URL(address))) continue;
      yield [
        key,
        "is http to another host, and anybody in between can read the secrets that are sent; " +
          "write https://…, or allow_http: true beside it",
      ];
    }
  };
