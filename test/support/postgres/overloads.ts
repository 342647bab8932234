import { readdirSync, readFileSync } from "node:fs";
import { expect } from "vitest";
import type { FreshDatabase } from "../databases/fresh-database.ts";
import type { Role } from "../databases/role.ts";
import { postgresServer } from "./postgres-server.ts";

export interface Planted {
  /** Signatures of those that anybody has called. */
  called(): Promise<readonly string[]>;
}

/**
 * Creates objects in the schema public, as this role, that shadow PostgreSQL's own if public comes first on the search_path:
 * every function and relation whose name is anywhere in the text of the adapters, and all operators and types. Each
 * does what the original does, and counts its uses.
 */
export async function plantOverloads({ query }: FreshDatabase, { url, name }: Role): Promise<Planted> {
  const database = new URL(url).pathname.slice(1);
  await query(`ALTER DATABASE ${database} SET track_functions = 'all'`);
  const session = postgresServer.connect(url);
  try {
    await session.query("SET search_path = pg_catalog");
    await session.query("SET check_function_bodies = off");
    await session.query(COUNTER);
    await session.query(`SELECT set_config('planted.words', $1, false)`, [words().join(" ")]);
    for (const plant of [FUNCTIONS, AGGREGATES, OPERATORS, TYPES, RELATIONS]) {
      await session.query(`DO $do$ ${plant} $do$`);
    }
  } finally {
    await session.end();
  }
  const [count] = await query<{ operators: number; functions: number }>(
    `SELECT (SELECT count(*)::int FROM pg_operator WHERE oprowner = $1::regrole) AS operators,
       (SELECT count(*)::int FROM pg_proc WHERE proowner = $1::regrole) AS functions`,
    [name],
  );
  expect(count?.operators).toBeGreaterThan(500);
  expect(count?.functions).toBeGreaterThan(700);
  await query("SELECT pg_stat_reset()");
  return {
    called: async () => {
      const rows = await query<{ signature: string }>(
        `SELECT coalesce(o.oid::regoperator::text, funcid::regprocedure::text) AS signature
         FROM pg_stat_user_functions JOIN pg_proc AS p ON p.oid = funcid
         LEFT JOIN (SELECT oprcode, oid FROM pg_operator) AS o ON oprcode = funcid
         WHERE p.proowner = $1::regrole ORDER BY 1`,
        [name],
      );
      return rows.map(({ signature }) => signature);
    },
  };
}

/** All words in the adapters that make SQL. */
function words(): string[] {
  const found = new Set<string>();
  for (const folder of ["postgres", "sql"]) {
    const url = new URL(`../../../src/adapters/${folder}/`, import.meta.url);
    for (const file of readdirSync(url, { recursive: true, encoding: "utf8" })) {
      if (!file.endsWith(".ts")) continue;
      for (const [word] of readFileSync(new URL(file, url), "utf8").matchAll(/[a-z_][a-z0-9_]*/g))
        found.add(word);
    }
  }
  return [...found];
}

const COUNTER = `CREATE FUNCTION public.quantity(what text) RETURNS boolean LANGUAGE plpgsql AS
  'BEGIN RETURN true; END'`;

const WORDS = "string_to_array(current_setting('planted.words'), ' ')";

/** Some can't be made by such a role: those have no overload of that signature from anybody. */
const orNot = (statements: string): string => `BEGIN ${statements} EXCEPTION WHEN others THEN NULL; END;`;

const FUNCTIONS = `
  DECLARE f record; variant text;
  BEGIN
    FOR f IN SELECT p.oid, proname, proretset, prorettype = 'record'::regtype AS is_record,
        format_type(prorettype, NULL) AS returns,
        (SELECT coalesce(string_agg(format_type(t, NULL), ', ' ORDER BY n), '') FROM unnest(proargtypes) WITH ORDINALITY AS a (t, n)) AS args,
        (SELECT coalesce(string_agg('$' || n, ', ' ORDER BY n), '') FROM unnest(proargtypes) WITH ORDINALITY AS a (t, n)) AS passed
      FROM pg_proc AS p WHERE pronamespace = 'pg_catalog'::regnamespace AND prokind = 'f' AND proname = ANY (${WORDS})
    LOOP
      FOR variant IN SELECT f.args UNION ALL
        SELECT format('pg_catalog.%I', relname) FROM pg_class
        WHERE f.args IN ('anyelement', '"any"') AND relnamespace = 'pg_catalog'::regnamespace AND relkind = 'r'
      LOOP
        ${orNot(`EXECUTE format('CREATE FUNCTION public.%I(%s) RETURNS %s%s LANGUAGE plpgsql AS %L', f.proname, variant,
          CASE WHEN f.proretset THEN 'SETOF ' ELSE '' END, f.returns,
          CASE WHEN f.is_record THEN 'BEGIN RAISE ''planted''; END'
            WHEN f.proretset THEN format('BEGIN RETURN QUERY SELECT * FROM pg_catalog.%I(%s); END', f.proname, f.passed)
            ELSE format('BEGIN RETURN pg_catalog.%I(%s); END', f.proname, f.passed) END);`)}
      END LOOP;
    END LOOP;
  END`;

const AGGREGATES = `
  DECLARE f record;
  BEGIN
    FOR f IN SELECT proname, format_type(prorettype, NULL) AS state,
        (SELECT coalesce(string_agg(', ' || format_type(t, NULL), '' ORDER BY n), '') FROM unnest(proargtypes) WITH ORDINALITY AS a (t, n)) AS args
      FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace AND prokind = 'a' AND proname = ANY (${WORDS})
    LOOP
      ${orNot(`EXECUTE format('CREATE FUNCTION public.%I(%s%s) RETURNS %s LANGUAGE plpgsql AS ''BEGIN RETURN $1; END''',
          f.proname || '_planted', f.state, f.args, f.state);
        EXECUTE format('CREATE AGGREGATE public.%I(%s) (sfunc = public.%I, stype = %s)',
          f.proname, coalesce(nullif(substr(f.args, 3), ''), '*'), f.proname || '_planted', f.state);`)}
    END LOOP;
  END`;

const OPERATORS = `
  DECLARE o record;
  BEGIN
    FOR o IN SELECT oid, oprname, oprcode, oprleft, oprright, format_type(oprresult, NULL) AS returns FROM pg_operator
      WHERE oprnamespace = 'pg_catalog'::regnamespace
    LOOP
      ${orNot(`EXECUTE format('CREATE FUNCTION public.%I(%s%s) RETURNS %s LANGUAGE plpgsql AS %L', 'operator_' || o.oid,
          CASE WHEN o.oprleft = 0 THEN '' ELSE format_type(o.oprleft, NULL) || ', ' END, format_type(o.oprright, NULL), o.returns,
          format('BEGIN RETURN pg_catalog.%I($1%s); END', o.oprcode::text, CASE WHEN o.oprleft = 0 THEN '' ELSE ', $2' END));
        EXECUTE format('CREATE OPERATOR public.%s (%srightarg = %s, function = public.%I)', o.oprname,
          CASE WHEN o.oprleft = 0 THEN '' ELSE 'leftarg = ' || format_type(o.oprleft, NULL) || ', ' END,
          format_type(o.oprright, NULL), 'operator_' || o.oid);`)}
    END LOOP;
  END`;

const TYPES = `
  DECLARE t record;
  BEGIN
    FOR t IN SELECT oid, typname FROM pg_type
      WHERE typnamespace = 'pg_catalog'::regnamespace AND typtype = 'b' AND typelem = 0 AND typname = ANY (${WORDS})
    LOOP
      ${orNot(`EXECUTE format('CREATE DOMAIN public.%I AS pg_catalog.%I CHECK (public.quantity(%L))', t.typname, t.typname, t.typname);`)}
    END LOOP;
  END`;

const RELATIONS = `
  DECLARE r record;
  BEGIN
    FOR r IN SELECT relname FROM pg_class
      WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind IN ('r', 'v') AND relname = ANY (${WORDS})
    LOOP
      ${orNot(`EXECUTE format('CREATE VIEW public.%I AS SELECT * FROM pg_catalog.%I WHERE public.quantity(%L)', r.relname, r.relname, r.relname);
        EXECUTE format('GRANT SELECT ON public.%I TO PUBLIC', r.relname);`)}
    END LOOP;
  END`;
