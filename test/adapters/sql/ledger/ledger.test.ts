import { ledgerDatabaseContract } from "../../../contracts/ledger.ts";
import { ledgerDatabase } from "./ledger-database.ts";
import { preparedLedgerDatabase } from "./prepared-database.ts";

ledgerDatabaseContract("in a database", () => ledgerDatabase(), preparedLedgerDatabase);
