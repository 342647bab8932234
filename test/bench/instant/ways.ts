import { CHANGES_CHANNEL } from "./tenants.ts";

/** One way to notice a tenant, under one limit of the service. */
export interface Way {
  readonly name: string;
  /** `source.changes` in the config. */
  readonly changes: object;
  /** Whether each tenant is asked for by POST /sync. */
  readonly asks: boolean;
  /** Whether a full sync creates other groups meanwhile. */
  readonly isBesideBackfill: boolean;
  /** More keys of `service` in the config. */
  readonly service: object;
  /** The sandbox's flags. */
  readonly flags: readonly string[];
  readonly atMost: Bound;
}

/** In milliseconds. */
interface Bound {
  readonly p50: number;
  readonly p99: number;
}

/** What groupsync may need by itself. */
const OWN: Bound = { p50: 150, p99: 1_000 };
const OWN_AFTER_LOOK: Bound = { p50: 150, p99: 300 };
/** Of the service's limit: one call in each 100 ms. */
const SLOT_MS = 100;
const KNOWN_LIMIT = { rate_limit: "600/min" };
const UNKNOWN_LIMIT = ["--token-bucket", "10/s:10"];
/** How long a limit that groupsync has to find out may hold a tenant. */
const UNKNOWN_LIMIT_MS = 2_000;

const aWay = (way: Partial<Way> & Pick<Way, "name" | "atMost">): Way => ({
  changes: {},
  asks: false,
  isBesideBackfill: false,
  service: {},
  flags: [],
  ...way,
});

export const columnWay = (everyMs: number): Way =>
  aWay({
    name: `column, every ${everyMs} ms`,
    changes: { column: "updated_at", every: `${everyMs}ms` },
    atMost: { p50: everyMs / 2 + OWN_AFTER_LOOK.p50, p99: everyMs + OWN_AFTER_LOOK.p99 },
  });

const later = ({ p50, p99 }: Bound, ms: number): Bound => ({ p50: p50 + ms, p99: p99 + ms });

const besideBackfill = (way: Way, more: Partial<Way> & Pick<Way, "name" | "atMost">): Way => ({
  ...way,
  ...more,
  name: `${way.name} beside a backfill, ${more.name}`,
  isBesideBackfill: true,
});

const CHANNEL = aWay({ name: "channel", changes: { channel: CHANGES_CHANNEL }, atMost: OWN });
const POST = aWay({ name: "POST /sync", asks: true, atMost: OWN });
const UNDER_KNOWN = { name: "600/min", service: KNOWN_LIMIT, atMost: later(OWN, SLOT_MS) };
const UNDER_UNKNOWN = { name: "unknown limit", flags: UNKNOWN_LIMIT, atMost: later(OWN, UNKNOWN_LIMIT_MS) };

/** The ways of PostgreSQL beside the column. */
export const OTHER_WAYS: readonly Way[] = [
  CHANNEL,
  POST,
  besideBackfill(CHANNEL, UNDER_KNOWN),
  besideBackfill(POST, UNDER_KNOWN),
  besideBackfill(POST, UNDER_UNKNOWN),
];
