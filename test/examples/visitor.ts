/** What a browser does that keeps one cookie, and follows no redirect. */
export interface Visitor {
  ask(path: string): Promise<Response>;
  text(path: string): Promise<string>;
  /** Sends a form from a page of this origin, by default the application's own. */
  send(path: string, form: Readonly<Record<string, string>>, from?: string): Promise<Response>;
}

export function aVisitor(origin: string): Visitor {
  let cookie = "";
  const ask = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const headers = { cookie, ...init.headers };
    const response = await fetch(`${origin}${path}`, { redirect: "manual", ...init, headers });
    const [set] = response.headers.getSetCookie();
    if (set !== undefined) cookie = set.split(";", 1)[0] ?? "";
    return response;
  };
  return {
    ask: (path) => ask(path),
    text: async (path) => (await ask(path)).text(),
    send: (path, form, from = origin) =>
      ask(path, { method: "POST", body: new URLSearchParams(form), headers: { origin: from } }),
  };
}

/** What somebody of this company writes into the form to sign up. */
export const anAccount = (company: string) => ({
  company,
  email: `kim@${company.toLowerCase()}.example`,
  password: "correct horse",
});
