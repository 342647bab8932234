/** The tags, labels or metadata by which groupsync knows a secret again for one that this config manages. */
export type Marks = Readonly<Record<string, string>>;

export const SCOPE_MARK = "groupsync-name";

export const marksOf = (scope: string): Marks => ({ "managed-by": "groupsync", [SCOPE_MARK]: scope });

/** Whether a secret has all of them; what else it has is no matter. */
export const bears = (found: Readonly<Record<string, unknown>> | null | undefined, marks: Marks): boolean =>
  Object.entries(marks).every(([mark, value]) => found?.[mark] === value);

/** The config whose secret it is; undefined where it isn't groupsync's. */
export const scopeIn = (found: Readonly<Record<string, unknown>> | null | undefined): string | undefined => {
  const scope = found?.[SCOPE_MARK];
  return typeof scope === "string" ? scope : undefined;
};
