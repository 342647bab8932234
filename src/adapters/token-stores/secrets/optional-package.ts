import { SyncError } from "../../../core/failure/sync-error.ts";
import { systemCodeOf } from "./vendor-errors.ts";

/** The packages that each store needs beside groupsync itself, in the tested versions. */
export const OPTIONAL_PACKAGES = {
  aws_secrets_manager: ["@aws-sdk/client-secrets-manager@3.1162.0"],
  gcp_secret_manager: ["@google-cloud/secret-manager@6.3.0"],
  azure_key_vault: ["@azure/keyvault-secrets@4.11.2", "@azure/identity@4.13.1"],
  kubernetes: ["@kubernetes/client-node@1.4.0"],
} as const;

/** `--save-prod` because package.json has these packages for development, and `--omit=dev` would leave them out. */
export const INSTALL = "npm install --no-save --save-prod --omit=dev";

/** Loads a store's packages. Rejects with CONFIG_PACKAGE_MISSING, whose hint is the command that installs them. */
export async function optional<T>(store: keyof typeof OPTIONAL_PACKAGES, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if (systemCodeOf(error) !== "ERR_MODULE_NOT_FOUND") throw error;
    const packages = OPTIONAL_PACKAGES[store].join(" ");
    throw new SyncError(
      "CONFIG_PACKAGE_MISSING",
      `tokens.store: ${store} needs packages that are not installed`,
      {
        hint: `in groupsync's folder: ${INSTALL} ${packages}`,
        cause: error,
      },
    );
  }
}
