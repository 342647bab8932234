import { SERVICE_FAILURES } from "./service-failure.ts";

const OF_ROWS = {
  ID_NULL: "fill the id's column, or have the source leave the row out",
  ID_EMPTY: "fill the id's column, or have the source leave the row out",
  ID_TOO_LONG: "shorten the id",
  ID_UNUSABLE: "correct the id; a query can cast it to text",
  ID_DUPLICATE: "leave one row with this id",
  VALUE_NULL: "fill the column, or give its rule a default",
  VALUE_EMPTY: "fill the column; a row that isn't complete yet can wait, with source.ready_when",
  VALUE_UNUSABLE: "correct the value, or use another column",
  GROUP_TOO_LARGE: "put less into properties",
};

const OF_GROUPS = {
  NOT_UPDATED:
    "compare the group's name with the one in the message; groupsync probe finds out whether the service ever changes a group",
  NOT_REPLACED: "ask the service's operators: it says that the group is deleted, and still has it",
  TOKEN_NOT_STORED:
    "fix what the token store complains of; with rows: existing, is there a row for the tenant?",
  NEW_TOKEN_NOT_STORED: "fix the token store now: the tenant is locked out until the new token is stored",
  NOT_ROTATED: "fix the token store; the next sync rotates the group",
  TOKEN_NOT_EVERYWHERE: "fix the token store that refuses; the next sync takes the token there",
  TOKEN_UNSURE: "nothing: the next sync checks the stored copies",
  UNSETTLED: "fix what the message names, and run groupsync sync",
  IN_DOUBT: "correct its row if that is rejected; the next sync asks the service for its group",
  TOKEN_NOT_REMOVED: "fix what the message names; the next sync removes the token",
};

/** What an operator does about each code that one row or one group can have. docs/errors.md says it at more length. */
const REMEDIES: Readonly<Record<string, string>> = {
  ...OF_ROWS,
  ...OF_GROUPS,
  ...Object.fromEntries(Object.entries(SERVICE_FAILURES).map(([code, { remedy }]) => [code, remedy])),
};

/** The action for this code of a row or a group. */
export const remedyOf = (code: string): string => REMEDIES[code] ?? "fix what the message names";

/** The actions for these codes that the message doesn't say, each once, in the order in which the codes come. */
export const remediesOf = (codes: readonly string[]): readonly { code: string; remedy: string }[] =>
  [...new Set(codes)].flatMap((code) => {
    const remedy = REMEDIES[code];
    return remedy === undefined ? [] : [{ code, remedy }];
  });
