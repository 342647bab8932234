import { Secret } from "../core/secret/secret.ts";

/** All secrets of a config, but for the database urls that have no password. */
export function* secretsIn(value: unknown): Generator<Secret> {
  if (value instanceof Secret) yield value;
  else if (typeof value === "object" && value !== null) {
    if ("dialect" in value && "url" in value && value.url instanceof Secret && !hasPassword(value.url))
      return;
    for (const inner of Object.values(value)) yield* secretsIn(inner);
  }
}

function hasPassword(url: Secret): boolean {
  const { password, searchParams } = new URL(url.reveal());
  return password !== "" || searchParams.has("password");
}
