// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is what the config file has
import { describe, expect, it } from "vitest";
import type { ChangesConfig } from "../../../src/config/model/config.ts";
import { load, MINIMAL, problemsOf, withKeys } from "../config-file.ts";

const withChanges = (changes: unknown, source: object = {}): string =>
  withKeys({ source: { ...source, changes } });
const loaded = (changes: unknown, source?: object): ChangesConfig | undefined =>
  load(withChanges(changes, source)).source.changes;

describe("source.changes", () => {
  it.each([[undefined], [null], [{}]])("is off if it is %j", (changes) => {
    expect(loaded(changes)).toBeUndefined();
  });

  it("asks for the rows of a column every second, or as often as it says", () => {
    expect(loaded({ column: "updated_at" })).toEqual({ column: { name: "updated_at", everyMs: 1_000 } });
    expect(loaded({ column: "updated_at", every: "100ms" })).toMatchObject({ column: { everyMs: 100 } });
    expect(loaded({ column: "updated_at", every: "1h" })).toMatchObject({ column: { everyMs: 3_600_000 } });
  });

  it("takes a column of MySQL", () => {
    expect(loaded({ column: "changed" }, { url: "mysql://localhost/crm" })).toMatchObject({
      column: { name: "changed" },
    });
  });

  it("listens at the source's url, or at its own", () => {
    expect(loaded({ channel: "customers_changed" })?.channel?.url.url.reveal()).toBe(MINIMAL.source.url);
    const direct = "postgres://app:pw@localhost:5433/crm";
    const { column, channel } = loaded({ column: "changed", channel: "changed", url: direct }) ?? {};
    expect(column?.name).toBe("changed");
    expect(channel?.name).toBe("changed");
    expect(channel?.url.url.reveal()).toBe(direct);
  });

  it.each<[string, object, string]>([
    [
      "a channel of MySQL",
      { url: "mysql://localhost/crm", changes: { channel: "changed" } },
      "source.changes.channel: is a channel of PostgreSQL, and source.url leads to MySQL",
    ],
    [
      "a channel that LISTEN would spell otherwise",
      { changes: { channel: "Customers" } },
      'source.changes.channel: "Customers" is not the name of a channel; write small letters, digits and _, like customers_changed',
    ],
    [
      "a url without a channel",
      { changes: { column: "changed", url: "postgres://localhost/crm" } },
      "source.changes.url: goes only with channel",
    ],
    [
      "a url of MySQL",
      { changes: { channel: "changed", url: "mysql://localhost/crm" } },
      "source.changes.url: leads to MySQL",
    ],
    [
      "a period without a column",
      { changes: { channel: "changed", every: "1s" } },
      "source.changes.every: goes only with column",
    ],
    [
      "a period that is too short",
      { changes: { column: "changed", every: "99ms" } },
      'source.changes.every: "99ms" is not a duration from 100ms to 1h',
    ],
    [
      "a period that is too long",
      { changes: { column: "changed", every: "61m" } },
      'source.changes.every: "61m" is not a duration from 100ms to 1h',
    ],
    [
      "a key that is unknown",
      { changes: { colum: "changed" } },
      'source.changes.colum: unknown key; did you mean "column"?',
    ],
  ])("refuses %s", (_, source, problem) => {
    expect(problemsOf(withKeys({ source }))).toContain(`1 problem:\n  line 1  ${problem}`);
  });
});

describe("http.sync_key", () => {
  const KEY = "0123456789abcdef";

  it("is a secret, and off if it is left out", () => {
    expect(load(withKeys({})).http.syncKey).toBeUndefined();
    const { syncKey } = load(withKeys({ http: { sync_key: "${KEY}" } }), { KEY }).http;
    expect(syncKey?.reveal()).toBe(KEY);
    expect(JSON.stringify(syncKey)).not.toContain(KEY);
  });

  it.each([["short"], ["0123456789abcde"], ["a key with blanks in it"], ["schlüssel-0123456789"]])(
    "refuses the key %j and doesn't show it",
    (key) => {
      const problems = problemsOf(withKeys({ http: { sync_key: key } }));
      expect(problems).toContain("http.sync_key: the value is not a key of at least 16 characters");
      expect(problems).not.toContain(key);
    },
  );

  it("refuses a key if nothing listens", () => {
    expect(problemsOf(withKeys({ http: { listen: "off", sync_key: KEY } }))).toContain(
      "1 problem:\n  line 1  http.sync_key: is for requests to http.listen, which is off",
    );
  });
});
