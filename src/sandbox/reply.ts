import { STATUS_CODES } from "node:http";

export type Headers = Readonly<Record<string, string>>;

export interface Answer {
  readonly kind: "answer";
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/** What becomes of a request: an answer, a cut connection, or nothing at all while the connection stays open. */
export type Reply = Answer | { readonly kind: "cut" | "hang" };

export const jsonAnswer = (status: number, body: unknown, headers: Headers = {}): Answer => ({
  kind: "answer",
  status,
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body),
});

/** A page as a proxy or a web application firewall would send it. */
export function htmlAnswer(status: number): Answer {
  const title = `${status} ${STATUS_CODES[status] ?? ""}`.trimEnd();
  return {
    kind: "answer",
    status,
    headers: { "content-type": "text/html; charset=utf-8" },
    body: `<html>\n<head><title>${title}</title></head>\n<body><h1>${title}</h1></body>\n</html>\n`,
  };
}
