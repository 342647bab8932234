import { tenantSourceContract } from "../../contracts/tenant-source.ts";
import { postgresSourceDatabase } from "./source-database.ts";

tenantSourceContract("PostgreSQL", postgresSourceDatabase);
