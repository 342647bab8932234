import { inject } from "vitest";

/**
 * How often a disaster is made to happen. What it hits is most often the engine, which is the same over both
 * databases: for what is MySQL's own a third of the rounds is enough, and the suite keeps within a quarter of an hour.
 */
export const rounds = (onPostgres: number): number =>
  inject("databaseKind") === "postgres" ? onPostgres : Math.ceil(onPostgres / 3);
