import { expect, test } from "vitest";
import { postgresStatements } from "../../../src/core/setup/postgres-statements.ts";
import { aColumn, aKey, aTable } from "../../builders/catalog.ts";
import { aSetup } from "./a-setup.ts";

test.each(["id", "id$$\\! touch /tmp/planted #", "id$$; DROP TABLE customers; --$_$", 'a"$$"$_$'])(
  "the text of the trigger's function ends where it should if the id's column is %s",
  (name) => {
    const columns = [aKey(name), aColumn("name")];
    const all = postgresStatements(aSetup({ ...aTable("customers"), columns }));
    const statements = all.slice(all.indexOf("CREATE OR REPLACE FUNCTION"));
    const [, quote = ""] = / AS (\$\w*\$)$/m.exec(statements) ?? [];
    const [, text, after] = statements.split(quote);
    expect(text).toContain(`changed."${name.replaceAll('"', '""')}"::text`);
    expect(text).toMatch(/\nEND $/);
    expect(after).toMatch(/^;\n/);
  },
);
