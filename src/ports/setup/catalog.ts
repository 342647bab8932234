import type { Catalog } from "../../core/proposal/catalog.ts";

/** Reads what a database says of its tables, and no row of them. */
export interface CatalogReader {
  /**
   * All tables and views that the user may see, without the system's own, without partitions and without groupsync's. A
   * MySQL url that names a database stands for this database alone. Rejects with SOURCE_UNAVAILABLE if the database can't
   * be reached or asked, with CONFIG_TLS, and with INTERRUPTED once this process is told to stop.
   */
  read(): Promise<Catalog>;
}
