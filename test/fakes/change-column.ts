import {
  type ChangedRow,
  type ChangePosition,
  MOST_AHEAD_MS,
  type NewestChange,
  OVERLAP_MS,
} from "../../src/core/changes/change-window.ts";

/** A version of a row: an insert, or an update of the row with the same id. Times are the database's. */
export interface Version {
  readonly id: string;
  /** When the row got its value, and by how much the clock that gave it is ahead. */
  readonly given: number;
  readonly ahead?: number;
  /** The value, if somebody has written another than the time. It counts at once, as a number does. */
  readonly value?: number;
  readonly committed: number;
  readonly deleted?: number;
}

/** A change column as a look at any time finds it. */
export interface AColumn {
  newest(at: number): NewestChange | null;
  rows(from: ChangePosition, at: number, limit: number): readonly ChangedRow[];
}

/** The value is a time in milliseconds, cut down to whole units. */
export function aColumn(versions: readonly Version[], unit = 1): AColumn {
  const stampOf = ({ given, ahead = 0, value }: Version): number =>
    value ?? Math.floor((given + ahead) / unit) * unit;
  /** Of the versions of one row, the one that was committed last. */
  const present = (at: number): [Version, number][] => {
    const rows = new Map<string, [Version, number]>();
    for (const [index, version] of versions.entries()) {
      if (version.committed > at) continue;
      const other = rows.get(version.id);
      if (other === undefined || other[0].committed <= version.committed)
        rows.set(version.id, [version, index]);
    }
    return [...rows.values()].filter(
      ([version]) =>
        (version.deleted ?? Number.POSITIVE_INFINITY) > at &&
        (version.value !== undefined || stampOf(version) <= at + MOST_AHEAD_MS),
    );
  };
  return {
    newest(at) {
      const versions = present(at);
      if (versions.length === 0) return null;
      const [newest] = versions.reduce((one, other) => (stampOf(other[0]) > stampOf(one[0]) ? other : one));
      const value = stampOf(newest);
      return { value: textOf(value), before: textOf(value - OVERLAP_MS) };
    },
    rows(from, at, limit) {
      return present(at)
        .map(([version, index]) => ({
          user_group_id: version.id,
          value: textOf(stampOf(version)),
          digest: `${index}`,
        }))
        .filter(
          ({ value }) => from === null || value > from.value || (from.isIncluded && value === from.value),
        )
        .sort((one, other) => (one.value < other.value ? -1 : Number(one.value > other.value)))
        .slice(0, limit);
    },
  };
}

/** Ordered as the numbers are. */
const textOf = (value: number): string => String(value + 1e12).padStart(16, "0");
