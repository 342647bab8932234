import { Secret } from "../secret/secret.ts";
import { isJsonObject, type Json } from "../text/json.ts";

/** The content of a secret: the bare token, or JSON with `user_group_id`, `token` and `rotated_at`. */
export type TokenFormat = "token" | "json";

/** The content of a secret. `now` becomes `rotated_at`: the time of writing, which for a new token is that of its rotation. */
export function formatToken(format: TokenFormat, id: string, token: Secret, now: Date): Secret {
  if (format === "token") return token;
  return new Secret(
    JSON.stringify({ user_group_id: id, token: token.reveal(), rotated_at: now.toISOString() }),
  );
}

/** The token in a content that `formatToken` made; undefined if there is none, or if it is another group's. */
export function tokenIn(format: TokenFormat, id: string, content: Secret): Secret | undefined {
  if (format === "token") return content.reveal() === "" ? undefined : content;
  const value = parsed(content.reveal());
  if (!isJsonObject(value) || value.user_group_id !== id) return undefined;
  return typeof value.token === "string" && value.token !== "" ? new Secret(value.token) : undefined;
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
