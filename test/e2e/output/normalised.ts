import type { World } from "../world.ts";

/** By key: what is different in every run, and what an example has in its place. */
const STAND_INS: Readonly<Record<string, unknown>> = {
  started_at: "2026-03-01T09:30:00.000Z",
  finished_at: "2026-03-01T09:30:00.405Z",
  retry_at: "2026-03-01T09:31:00.000Z",
  duration_ms: 405,
  age_ms: 5_000,
  least: 4.8,
  median: 7.5,
  most: 11.9,
};

/** The JSON that a command printed in this world, laid out to be read, with stand-ins for all that no two runs share. */
export function normalised(json: string, world: World): string {
  const database = new URL(world.database.url);
  const texts: readonly (readonly [RegExp | string, string])[] = [
    [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z/g, "2026-03-01T09:30:00.000Z"],
    [
      /next at [^"]*/g,
      "next at Sun, 1 Mar 2026, 09:35:00; Sun, 1 Mar 2026, 09:40:00; Sun, 1 Mar 2026, 09:45:00",
    ],
    [/"[\w-]{43}"/g, '"Htz4j-e9D9ZI0iYYbXdnugk3Yf6KsCIgYW73KqLMN0M"'],
    [/"[0-9a-f]{20}"/g, '"198094e90f57309cfd70"'],
    [/--approve-deletions [0-9a-f]{20}/g, "--approve-deletions 198094e90f57309cfd70"],
    // Of a run. A database that an earlier test has used goes on counting.
    [/("id": ?)"\d+"/g, '$1"3"'],
    [/groupsync-canary-[0-9a-f]{32}/g, "groupsync-canary-addaf0dd687b68651d914b114c0adde1"],
    [world.configFile, "/etc/groupsync/config.yaml"],
    [new URL(world.sandbox.baseUrl).host, "127.0.0.1:4180"],
    [`${database.host}${database.pathname}`, "127.0.0.1:5432/crm"],
    [` owned by ${database.username}"`, ' owned by groupsync"'],
  ];
  const text = texts.reduce((before, [from, to]) => before.replaceAll(from, to), json);
  const value: unknown = JSON.parse(text, (key, found) =>
    found === null ? null : (STAND_INS[key] ?? found),
  );
  return `${laidOut(value)}\n`;
}

const LONGEST_LINE = 100;

/** What fits stands in one line. */
function laidOut(value: unknown, indent = ""): string {
  const line = oneLine(value);
  if (typeof value !== "object" || value === null || indent.length + line.length <= LONGEST_LINE) return line;
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  const deeper = `${indent}  `;
  const entries = Object.entries(value).map(
    ([key, item]) => `${deeper}${Array.isArray(value) ? "" : `"${key}": `}${laidOut(item, deeper)}`,
  );
  return `${open}\n${entries.join(",\n")}\n${indent}${close}`;
}

function oneLine(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(oneLine).join(", ")}]`;
  const entries = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${oneLine(item)}`);
  return entries.length === 0 ? "{}" : `{ ${entries.join(", ")} }`;
}
