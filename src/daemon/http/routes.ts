import { visible } from "../../core/text/printable.ts";

/**
 * What the server has, by path. A path that ends with a name in braces, such as `/sync/{user_group_id}`, stands for all
 * paths that begin with what is before the brace.
 */
export type Routes = Readonly<Record<string, Page | Action>>;

interface Page {
  /** Makes the page anew for each request. */
  readonly page: (request: PageRequest) => Reply | Promise<Reply>;
  /** The page tells nothing about tenants, so it is shown to requests with any Host header. */
  readonly forAnyHost?: true;
}

export interface PageRequest {
  /** With its question mark; empty if there is none. */
  readonly query: string;
  /** Aborts when nobody waits for the reply any more. */
  readonly gone: AbortSignal;
}

interface Action {
  readonly post: (request: PostRequest) => Promise<Reply>;
}

export interface PostRequest extends PageRequest {
  /** What the path has in the place of the name in braces, as it was sent. */
  readonly below: string;
  /** By name in small letters, each with all its values. */
  readonly headers: Readonly<Record<string, readonly string[] | undefined>>;
}

export function findRoute(routes: Routes, path: string) {
  for (const [pattern, route] of Object.entries(routes)) {
    const [fixed = "", name] = pattern.split("{");
    if (name === undefined ? path === fixed : path.startsWith(fixed))
      return { route, below: path.slice(fixed.length) };
  }
  return undefined;
}

export interface Reply {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  /** In addition to the headers of every reply. */
  readonly headers?: Readonly<Record<string, string>>;
}

export const plain = (status: number, text: string): Reply => ({
  status,
  contentType: "text/plain; charset=utf-8",
  body: `${visible(text)}\n`,
});
