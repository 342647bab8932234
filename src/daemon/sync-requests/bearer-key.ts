import { hash, timingSafeEqual } from "node:crypto";
import type { Secret } from "../../core/secret/secret.ts";

/**
 * Whether a request has one Authorization header, and it is `Bearer` with this key. Compares digests, so that the time
 * that it takes says nothing about the key, not even its length.
 */
export function hasBearerKey(authorization: readonly string[] | undefined, key: Secret): boolean {
  const [header = "", ...more] = authorization ?? [];
  const [, sent] = /^Bearer +(.+)$/i.exec(header) ?? [];
  if (sent === undefined || more.length > 0) return false;
  // Node.js gives each byte of a header as one character.
  return timingSafeEqual(digestOf(Buffer.from(sent, "latin1")), digestOf(Buffer.from(key.reveal())));
}

const digestOf = (bytes: Buffer): Buffer => hash("sha256", bytes, "buffer");
