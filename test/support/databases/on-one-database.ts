import { inject, test } from "vitest";
import { LONG } from "../long.ts";

/**
 * A test of a file that runs on MySQL too, in which the database decides nothing: it runs on PostgreSQL, and in a long
 * run on both.
 */
export const onOneDatabase = test.runIf(LONG || inject("databaseKind") === "postgres");
