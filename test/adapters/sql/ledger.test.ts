import { ledgerDatabaseContract } from "../../contracts/ledger.ts";
import { ledgerDatabase } from "./ledger-database.ts";

ledgerDatabaseContract("in a database", () => ledgerDatabase());
