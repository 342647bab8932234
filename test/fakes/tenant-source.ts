import type { Cell, TenantRow } from "../../src/core/tenant.ts";
import type { TenantSource } from "../../src/ports/tenant-source.ts";
import type { Step } from "./instance.ts";

/** A row of the customer's table; what it doesn't have is null. */
export type TenantRecord = Readonly<Record<string, Cell>>;

export class InMemoryTenantSource implements TenantSource {
  readonly #records: readonly TenantRecord[];
  readonly #step: Step;
  readonly #batch: number;

  constructor(records: readonly TenantRecord[], step: Step, batch = 2) {
    this.#records = records;
    this.#step = step;
    this.#batch = batch;
  }

  async *rows(columns: readonly string[]): AsyncGenerator<readonly TenantRow[]> {
    const rows = this.#records
      .map((record) => columns.map((column) => record[column] ?? null))
      .sort(([a], [b]) => Buffer.compare(bytesOf(a), bytesOf(b)));
    for (let start = 0; start < rows.length; start += this.#batch) {
      await this.#step({ when: "before", call: "rows" });
      yield rows.slice(start, start + this.#batch);
    }
  }
}

/** Null ids come first. */
const bytesOf = (id: Cell | undefined): Buffer => Buffer.from(typeof id === "string" ? id : "");
