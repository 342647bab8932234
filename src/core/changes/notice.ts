/** What was noticed between two full syncs. */
export type Notice =
  /** This tenant may have changed. It may be new, unchanged, gone or rejected as well. */
  | { readonly kind: "tenant"; readonly user_group_id: string }
  /** Something changed, and nobody knows what: a full sync has to look. */
  | { readonly kind: "anything" };

export const ANYTHING: Notice = { kind: "anything" };
