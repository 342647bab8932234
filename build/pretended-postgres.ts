import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { LEDGER_VERSION } from "../src/adapters/sql/dialect/ledger-tables.ts";

type Value = string | number | boolean | null;
type Row = Readonly<Record<string, Value>>;

const TENANTS = 20;
export const TENANT_COLUMNS = ["id", "name", "a", "b"] as const;
const ROLE = "pretended";

const tenantColumns = (value: (column: string) => string): Row =>
  Object.fromEntries(TENANT_COLUMNS.map((column) => [column, value(column)]));

type Answers = readonly (readonly [part: string | RegExp, rows: readonly Row[]])[];

/** What statements find, by a part of their text. All other statements find nothing. */
const answersFor = (baseUrl: string): Answers => [
  ["to_regclass($1) AS oid", [{ schema: "public", table: "t", owner: ROLE, isOurs: true }]],
  ['AS "isThere"', [{ isThere: true }]],
  ["max(version)", [{ version: LEDGER_VERSION }]],
  [
    '"readAt", state,',
    [
      {
        ...{ ledgerId: "ledger", state: null },
        ...{ epoch: null, holder: null, acquiredAt: null, expiresAt: null, handOverMs: null },
        // As PostgreSQL writes it.
        readAt: new Date().toISOString().replace("T", " ").replace("Z", "+00"),
      },
    ],
  ],
  [
    'AS "readAt"',
    [
      {
        ...{ epoch: "1", writes: "1", writesBefore: "1", server: null },
        holder: "",
        acquiredAt: "2000-01-01 00:00:00+00",
        expiresAt: "2000-01-01 00:00:00+00",
        handOverMs: null,
        held: false,
        readAt: "2000-01-01 00:00:00+00",
      },
    ],
  ],
  ["max(id)", [{ id: "1" }]],
  [
    '"mayWriteRows"',
    ["user_group_id", "token", "updated_at"].map((name) => ({
      name,
      takesText: true,
      isKey: true,
      mayWriteRows: true,
    })),
  ],
  // The owner's mark.
  ['token_column AS "column"', [{ column: "*", name: "default", baseUrl, teamId: null, ledgerId: "ledger" }]],
  ["type_schema", [{ type: "pg_catalog.text", operator: "pg_catalog.=" }]],
  ['AS "isReadable"', TENANT_COLUMNS.map((name) => ({ name, user: ROLE, isReadable: true }))],
  ["LIMIT 0", [tenantColumns((column) => column)]],
  ["WITH RECURSIVE described", [{ oid: 25, name: "text", schema: "pg_catalog", base: 0, element: 0 }]],
  ["'server_encoding'", [{ encoding: "UTF8" }]],
  ["current_user::pg_catalog.text AS name", [{ name: ROLE }]],
  [
    "hashtextextended",
    Array.from({ length: TENANTS }, (_, index) => ({
      bucket: String(index),
      digest: String(index),
      ...tenantColumns((column) => `${column} ${String.fromCharCode(97 + index)}`),
    })),
  ],
];

/**
 * Pretends to be a PostgreSQL with a ledger and some tenants, just well enough for a command to get to its first call
 * of the service at `baseUrl`.
 */
export async function pretendPostgres(baseUrl: string): Promise<{ readonly port: number; close(): void }> {
  const answers = answersFor(baseUrl);
  const server = createServer({ noDelay: true }, (socket) => new Session(socket, answers));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { port: (server.address() as AddressInfo).port, close: () => void server.close() };
}

/** See "Message Formats" in the documentation of PostgreSQL. */
class Session {
  readonly #socket: Socket;
  readonly #answers: Answers;
  #received = Buffer.alloc(0);
  #hasStarted = false;
  #statement = "";

  constructor(socket: Socket, answers: Answers) {
    this.#socket = socket;
    this.#answers = answers;
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      while (this.#takeMessage());
    });
  }

  #takeMessage(): boolean {
    // The first message has no type.
    const start = this.#hasStarted ? 1 : 0;
    if (this.#received.length < start + 4) return false;
    const end = start + this.#received.readInt32BE(start);
    if (this.#received.length < end) return false;
    const type = this.#hasStarted ? this.#received.toString("latin1", 0, 1) : "startup";
    const body = this.#received.subarray(start + 4, end);
    this.#received = this.#received.subarray(end);
    this.#answer(type, body);
    return true;
  }

  #answer(type: string, body: Buffer): void {
    switch (type) {
      case "startup":
        this.#hasStarted = true;
        this.#send("R", int32(0));
        this.#ready();
        return;
      case "Q":
        this.#statement = text(body);
        // One result for each statement; only the last one may have rows.
        for (let more = this.#statement.split(";").length; more > 1; more--) this.#complete(0);
        this.#describe();
        this.#execute();
        this.#ready();
        return;
      case "P":
        // The statement's name, which ends with a zero byte, comes first.
        this.#statement = text(body.subarray(body.indexOf(0) + 1));
        this.#send("1");
        return;
      case "B":
        this.#send("2");
        return;
      case "D":
        this.#describe();
        return;
      case "E":
        this.#execute();
        return;
      case "C":
        this.#send("3");
        return;
      case "S":
        this.#ready();
        return;
      case "X":
        this.#socket.end();
        return;
    }
  }

  #describe(): void {
    const [first] = this.#rows();
    if (first === undefined) {
      this.#send("n");
      return;
    }
    const fields = Object.entries(first).flatMap(([name, value]) => [
      Buffer.from(`${name}\0`),
      int32(0),
      int16(0),
      int32(typeOf(name, value)),
      int16(-1),
      int32(-1),
      int16(0),
    ]);
    this.#send("T", int16(Object.keys(first).length), ...fields);
  }

  #execute(): void {
    const rows = this.#rows();
    for (const row of rows) {
      const values = Object.values(row).flatMap((value) => {
        if (value === null) return [int32(-1)];
        const bytes = Buffer.from(typeof value === "boolean" ? (value ? "t" : "f") : String(value));
        return [int32(bytes.length), bytes];
      });
      this.#send("D", int16(Object.keys(row).length), ...values);
    }
    this.#complete(rows.length);
  }

  #complete(rows: number): void {
    this.#send("C", Buffer.from(`SELECT ${rows}\0`));
  }

  #rows(): readonly Row[] {
    const statement = this.#statement;
    // A transaction begins if its last statement finds the lease, and no fewer writes than were committed.
    if (statement.includes("FOR KEY SHARE")) return [{ writes: "1000000" }];
    const answer = this.#answers.find(([part]) =>
      typeof part === "string" ? statement.includes(part) : part.test(statement),
    );
    return answer?.[1] ?? [];
  }

  #ready(): void {
    this.#send("Z", Buffer.from("I"));
  }

  #send(type: string, ...parts: readonly Buffer[]): void {
    const body = Buffer.concat(parts);
    this.#socket.write(Buffer.concat([Buffer.from(type), int32(4 + body.length), body]));
  }
}

/** The number of a type that the driver parses as this value. */
function typeOf(name: string, value: Value): number {
  if (typeof value === "boolean") return 16;
  if (typeof value === "number") return 23;
  return name.endsWith("At") ? 1184 : 25;
}

/** Up to a zero byte. */
const text = (bytes: Buffer): string => bytes.toString("utf8", 0, bytes.indexOf(0));

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}
