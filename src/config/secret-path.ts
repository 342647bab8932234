import { z } from "zod";
import { fits, HASHED, parseSecretPath, type SecretNaming } from "../core/secret-name.ts";
import { wanted } from "./scalars.ts";

/** `allowed` is what may stand around the id, in words. */
export const secretPath = (naming: SecretNaming, example: string, allowed: string) =>
  z.string(wanted("a path", `write it like ${example}`)).transform((template, context) => {
    const refuse = (message: string) => {
      context.addIssue({ code: "custom", message });
      return z.NEVER;
    };
    const path = parseSecretPath(template);
    if (path === undefined)
      return refuse(
        `{value} has to have {{ user_group_id }} in it once, and no other braces; write it like ${example}`,
      );
    if (fits(path, naming)) return path;
    const isTooLong = fits(path, { ...naming, longest: Number.POSITIVE_INFINITY });
    return refuse(
      isTooLong
        ? `{value} is too long: a name has at most ${naming.longest} characters, of which an id may need ${HASHED}`
        : `{value} is not a path that this store takes; write it like ${example}, around the id with ${allowed}`,
    );
  });
