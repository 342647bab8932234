import { ledgerContract } from "../../contracts/ledger.ts";
import { postgresLedgerDatabase } from "./ledger-database.ts";

ledgerContract("PostgreSQL", postgresLedgerDatabase);
