import { ledgerContract } from "../../contracts/ledger.ts";
import { inMemoryPlace } from "./ledger.ts";

ledgerContract("in memory", inMemoryPlace);
