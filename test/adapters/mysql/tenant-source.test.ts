import { tenantSourceContract } from "../../contracts/tenant-source.ts";
import { mysqlSourceDatabase } from "./source-database.ts";

tenantSourceContract("MySQL", mysqlSourceDatabase);
