import { Pool } from "undici";

/** The group that a first sync makes of the tenant with this number. */
export const groupOf = (i) => ({
  user_group_id: `tenant-${i}`,
  name: `Company ${i}`,
  mapping: { 40: `ds-${i}` },
  properties: { plan: "gold", seats: i },
});

/** Asks a service for groups as fast as undici can, and reads the answers. `options` are those of undici's requests. */
export function serviceOf(baseUrl, apiKey, connections, options) {
  const pool = new Pool(baseUrl, { connections });
  const headers = { authorization: `Token ${apiKey}`, "content-type": "application/json" };
  return {
    async ask(content, method = "GET") {
      const body = JSON.stringify(content);
      const response = await pool.request({ method, path: "/api/user", headers, body, ...options });
      const answer = await response.body.json();
      if (answer.success !== 1) throw new Error("the sandbox refused a request");
      return answer.user_group.token;
    },
    close: () => pool.destroy(),
  };
}
