import { isUsableId, type RejectedTenant, type RejectionCode } from "./tenant.ts";

/** Rows that are rejected for one reason, as the ledger remembers them. */
export interface Rejection {
  /** Null: these rows are only counted, because they have no usable id, or because too many rows are rejected. */
  readonly user_group_id: string | null;
  /** The bucket of the row, or of the first of the rows. */
  readonly bucket: number;
  readonly code: RejectionCode;
  readonly message: string;
  /** 1 for a row with an id. */
  readonly rows: number;
}

export interface RememberedRejection extends Rejection {
  readonly since: Date;
}

/** The most rows that are remembered by their ids. Beyond them, and without an id, rows are counted by their codes. */
export const MOST_REMEMBERED = 1_000;

/** In UTF-16 code units. */
const LONGEST_MESSAGE = 1_000;

/** What a read changes in the memory of rejected rows. */
interface RejectionChanges {
  /** New ones, and those whose message, bucket or number of rows is another. */
  readonly changed: readonly Rejection[];
  /** Of `changed`: those that are new. */
  readonly appeared: readonly Rejection[];
  readonly gone: readonly RememberedRejection[];
}

/** Compares the rejected rows of a read with the remembered ones. Its memory is bounded, whatever the source holds. */
export class RejectionMemory {
  readonly #isWhole: boolean;
  readonly #remembered: ReadonlyMap<string, RememberedRejection>;
  readonly #seen = new Map<string, Rejection>();
  readonly #fresh: Rejection[] = [];
  readonly #counted = new Map<RejectionCode, Rejection>();

  /** `isWhole`: the read is of all rows, so a row that it doesn't reject is rejected no more. */
  constructor(remembered: readonly RememberedRejection[], isWhole: boolean) {
    this.#isWhole = isWhole;
    this.#remembered = new Map(remembered.map((rejection) => [keyOf(rejection), rejection]));
  }

  see({ user_group_id: id, bucket, code, message }: RejectedTenant): void {
    const user_group_id = id !== null && isUsableId(id) ? id : null;
    const rejection = { user_group_id, bucket, code, message: kept(message), rows: 1 };
    if (user_group_id === null) this.#count(rejection);
    else if (this.#remembered.has(keyOf(rejection))) this.#seen.set(keyOf(rejection), rejection);
    else if (this.#fresh.length < MOST_REMEMBERED) this.#fresh.push(rejection);
    else this.#count(rejection);
  }

  /** `isAbout`: whether the read would have rejected the row of this id, if it still were as remembered. */
  changes(isAbout: (id: string) => boolean): RejectionChanges {
    const gone = [...this.#remembered.values()].filter(
      ({ user_group_id, ...rest }) =>
        user_group_id !== null &&
        isAbout(user_group_id) &&
        !this.#seen.has(keyOf({ user_group_id, ...rest })),
    );
    const singles = [...this.#remembered.values()].filter(
      ({ user_group_id }) => user_group_id !== null,
    ).length;
    const room = Math.max(0, MOST_REMEMBERED - singles + gone.length);
    for (const rejection of this.#fresh.slice(room)) this.#count(rejection);
    const appeared = this.#fresh.slice(0, room);
    const changed = [...this.#seen.values()].filter((rejection) => this.#differs(rejection));
    // A read of some rows says nothing about how many others there are.
    if (!this.#isWhole) return { changed: [...changed, ...appeared], appeared, gone };
    for (const counted of this.#counted.values()) {
      if (!this.#remembered.has(keyOf(counted))) appeared.push(counted);
      else if (this.#differs(counted)) changed.push(counted);
    }
    for (const rejection of this.#remembered.values())
      if (rejection.user_group_id === null && !this.#counted.has(rejection.code)) gone.push(rejection);
    return { changed: [...changed, ...appeared], appeared, gone };
  }

  #differs(rejection: Rejection): boolean {
    const before = this.#remembered.get(keyOf(rejection));
    return (
      before?.message !== rejection.message ||
      before.rows !== rejection.rows ||
      before.bucket !== rejection.bucket
    );
  }

  #count(rejection: Rejection): void {
    const { rows, ...first } = this.#counted.get(rejection.code) ?? {
      ...rejection,
      user_group_id: null,
      rows: 0,
    };
    this.#counted.set(rejection.code, { ...first, rows: rows + 1 });
  }
}

const keyOf = ({ user_group_id, code }: Pick<Rejection, "user_group_id" | "code">): string =>
  `${code} ${user_group_id ?? ""}`;

/** A message that every database keeps as it is, so that it can be compared with the remembered one. */
const kept = (message: string): string =>
  Buffer.from(message.slice(0, LONGEST_MESSAGE).replaceAll("\0", "\ufffd")).toString();

/** All rows that are rejected for the same reason. */
export interface RejectionReason {
  readonly code: RejectionCode;
  readonly message: string;
  readonly rows: number;
  readonly since: Date;
  /** The remembered ids, in order. */
  readonly ids: readonly string[];
}

/** The reasons, that of the most rows first. */
export function reasonsOf(rejections: readonly RememberedRejection[]): readonly RejectionReason[] {
  const reasons = new Map<string, RejectionReason>();
  for (const { user_group_id, code, message, rows, since } of rejections) {
    const key = `${code} ${message}`;
    const { rows: others, since: first, ids } = reasons.get(key) ?? { rows: 0, since, ids: [] };
    reasons.set(key, {
      code,
      message,
      rows: others + rows,
      since: first < since ? first : since,
      ids: user_group_id === null ? ids : [...ids, user_group_id],
    });
  }
  return [...reasons.values()].toSorted((a, b) => b.rows - a.rows);
}

export const rejectedRows = (rejections: readonly Pick<Rejection, "rows">[]): number =>
  rejections.reduce((sum, { rows }) => sum + rows, 0);
