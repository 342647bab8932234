import { ledgerDatabaseContract } from "../../contracts/ledger.ts";
import { postgresLedgerDatabase } from "./ledger-database.ts";

ledgerDatabaseContract("PostgreSQL", postgresLedgerDatabase);
