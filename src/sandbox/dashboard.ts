import { type Content, html, trusted } from "../core/text/html.ts";
import type { StoredGroup } from "./groups.ts";
import { type HttpAnswer, jsonAnswer } from "./user-group-api.ts";

const STYLE = `body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem; color: #1f2937; background: #fff }
h1 { font-size: 1.5rem; margin: 0 } dt { color: #4b5563 } dd { margin: 0 }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1.5rem }`;

/** The dashboard of the group whose token was sent. Refuses the request if no group has this token. */
export function dashboard(group: StoredGroup | undefined): HttpAnswer {
  if (group === undefined) {
    return jsonAnswer(401, {
      success: 0,
      error: "the Authorization header is not 'Bearer <USER_GROUP_TOKEN>' with the token of a group",
    });
  }
  const { name, user_group_id: id, mapping, properties } = group;
  const facts: (readonly [string, string])[] = [
    ["Group", id],
    ...Object.entries(mapping).map(([schema, source]) => [`Data of schema ${schema}`, source] as const),
    ...Object.entries(properties).map(([key, value]) => [key, textOf(value)] as const),
  ];
  const rows: Content = facts.map(([key, value]) => html`<dt>${key}</dt><dd>${value}</dd>`);
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${name}</title><style>${trusted(STYLE)}</style></head>
<body><h1>Hello, ${name}!</h1>
<p>The sandbox plays your dashboard. The token of your group has opened it.</p>
<dl>${rows}</dl></body></html>
`;
  return {
    kind: "answer",
    status: 200,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
      "cache-control": "no-store",
    },
    body: page.markup,
  };
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
