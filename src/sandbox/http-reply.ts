import { STATUS_CODES } from "node:http";

export type Headers = Readonly<Record<string, string>>;

export interface HttpAnswer {
  readonly kind: "answer";
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/** How a request ends: with an answer, with a cut connection, or never (`hang`: the connection stays open). */
export type HttpReply = HttpAnswer | { readonly kind: "cut" | "hang" };

export const jsonAnswer = (status: number, body: unknown, headers: Headers = {}): HttpAnswer => ({
  kind: "answer",
  status,
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body),
});

/** An HTML page such as a proxy or a web application firewall sends. */
export function htmlAnswer(status: number): HttpAnswer {
  const title = `${status} ${STATUS_CODES[status] ?? ""}`.trimEnd();
  return {
    kind: "answer",
    status,
    headers: { "content-type": "text/html; charset=utf-8" },
    body: `<html>\n<head><title>${title}</title></head>\n<body><h1>${title}</h1></body>\n</html>\n`,
  };
}
