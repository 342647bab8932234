import { Secret } from "../core/secret.ts";
import { isPlainHttpElsewhere } from "../core/this-machine.ts";
import { flag } from "./scalars.ts";
import type { KeyRule } from "./section.ts";

/** Whether the addresses of a section may be `http:` and lead to another host. */
export const allowHttp = flag.prefault(false);

/** These keys have addresses: one that would send secrets in clear to another host needs `allow_http: true` beside it. */
export const httpIsAllowed = (...keys: readonly string[]): KeyRule =>
  function* (section) {
    if (section.allow_http === true) return;
    for (const key of keys) {
      const value = section[key];
      const address = value instanceof Secret ? value.reveal() : value;
      if (typeof address !== "string" || !URL.canParse(address)) continue;
      if (!isPlainHttpElsewhere(new URL(address))) continue;
      yield [
        key,
        "is http to another host, where whoever listens in between gets every secret that is sent; " +
          "write https://…, or allow_http: true beside it",
      ];
    }
  };
