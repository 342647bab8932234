import { visible } from "../../core/text/printable.ts";

/** What the server sends back. */
export interface Reply {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  /** In addition to the headers of every reply. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** One line of text. */
export const plain = (status: number, text: string): Reply => ({
  status,
  contentType: "text/plain; charset=utf-8",
  body: `${visible(text)}\n`,
});

/** One line of JSON. */
export const json = (
  status: number,
  value: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): Reply => ({
  status,
  contentType: "application/json",
  body: `${visible(JSON.stringify(value))}\n`,
  headers,
});
