/** The tags, labels or metadata that mark a secret as managed by this config. */
export type ManagedTags = Readonly<Record<string, string>>;

export const SCOPE_MARK = "groupsync-name";

export const managedTags = (scope: string): ManagedTags => ({
  "managed-by": "groupsync",
  [SCOPE_MARK]: scope,
});

/** Whether a secret has all of the marks. It may have other tags, too. */
export const hasTags = (
  found: Readonly<Record<string, unknown>> | null | undefined,
  marks: ManagedTags,
): boolean => Object.entries(marks).every(([mark, value]) => found?.[mark] === value);

/** The name of the config that manages the secret; undefined if it isn't groupsync's. */
export const scopeIn = (found: Readonly<Record<string, unknown>> | null | undefined): string | undefined => {
  const scope = found?.[SCOPE_MARK];
  return typeof scope === "string" ? scope : undefined;
};
