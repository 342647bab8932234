import type { SecretManagerServiceClient } from "@google-cloud/secret-manager";
import { Secret } from "../../core/secret/secret.ts";
import { SECRET_NAMING, secretName } from "../../core/tokens/secrets.ts";
import {
  hasTags,
  managedTags,
  type SecretStore,
  SecretStoreFailure,
  type SecretStoreProblem,
  scopeIn,
} from "./secret-store.ts";
import { taggedStore, type VendorSecret } from "./tagged-store.ts";
import { optional, VendorClient } from "./vendor-client.ts";

interface GcpStoreOptions {
  /** The project's id or number. */
  readonly project: string;
  /** Replaces Google's own endpoint. An `http:` url is an emulator, and gets no credentials. */
  readonly endpoint?: string | undefined;
  /** The config's `name`. */
  readonly scope: string;
}

interface FoundSecret extends VendorSecret {
  readonly etag: string;
}

/** Turns off the client's retries, because the caller retries. */
const CALL = { timeout: 15_000, retry: null };
const LISTING = { ...CALL, autoPaginate: false };

/** A label's value has at most 63 small letters, digits, `-` and `_`. */
const LABEL = {
  ...SECRET_NAMING.gcp_secret_manager,
  plain: /[a-z0-9-]/,
  hex: "lower",
  longest: 63,
} as const;

/** Secrets in Google Cloud's Secret Manager. The newest version counts; older ones are destroyed. */
export function gcpStore(options: GcpStoreOptions): SecretStore {
  const vendor = new VendorClient({
    connect: () => connectTo(options),
    isLoginFailure,
    failureOf,
    close: (client) => client.close(),
  });
  const parent = `projects/${options.project}`;
  // If the name is too long, a prefix of its hash remains.
  const scope = secretName(options.scope, ["", ""], LABEL).slice(0, LABEL.longest);
  const ours = managedTags(scope);

  function path(name: string): string {
    return `${parent}/secrets/${name}`;
  }

  /** Resolves to the new version's number. */
  async function add(name: string, content: Secret): Promise<number> {
    const payload = { data: Buffer.from(content.reveal(), "utf8") };
    const request = { parent: path(name), payload };
    const [version] = await vendor.call((client) => client.addSecretVersion(request, CALL));
    return numberOf(version);
  }

  /**
   * The newest version, unless that one is disabled or destroyed. For some seconds after a write it can still be the version
   * before. There is none if a process died between creating the secret and its first version.
   */
  async function newest(name: string): Promise<Secret | undefined> {
    const request = { name: `${path(name)}/versions/latest` };
    const isNone = isCode("NOT_FOUND", "FAILED_PRECONDITION");
    const answer = await vendor.unless(isNone, (client) => client.accessSecretVersion(request, CALL));
    if (!answer) return undefined;
    const data = answer[0].payload?.data ?? "";
    return new Secret(Buffer.from(data).toString("utf8"));
  }

  /**
   * Every version costs money until it is destroyed. Ignores failures of this secret alone: the next new token tries again.
   */
  async function destroyOlder(name: string, newest: number): Promise<void> {
    try {
      await vendor.call(async (client) => {
        for await (const version of client.listSecretVersionsAsync({ parent: path(name) }, LISTING)) {
          if (numberOf(version) >= newest || version.state === "DESTROYED" || version.scheduledDestroyTime)
            continue;
          await client.destroySecretVersion({ name: version.name ?? "" }, CALL);
        }
      });
    } catch (error) {
      if (error instanceof SecretStoreFailure && error.problem !== "unavailable") return;
      throw error;
    }
  }

  function unlessMissing<T>(
    work: (client: SecretManagerServiceClient) => Promise<T>,
  ): Promise<T | undefined> {
    return vendor.unless(isCode("NOT_FOUND"), work);
  }

  async function find(name: string): Promise<FoundSecret | undefined> {
    const request = { name: path(name) };
    const answer = await unlessMissing((client) => client.getSecret(request, CALL));
    if (!answer) return undefined;
    const [{ labels, etag }] = answer;
    return {
      isManaged: hasTags(labels, ours),
      scope: scopeIn(labels),
      content: () => newest(name),
      etag: etag ?? "",
    };
  }

  return taggedStore({
    naming: SECRET_NAMING.gcp_secret_manager,
    title: `Secret Manager in the project ${options.project}`,
    find,
    async create(name, content) {
      const secret = { labels: ours, replication: { automatic: {} } };
      const request = { parent, secretId: name, secret };
      const isTaken = isCode("ALREADY_EXISTS");
      const made = await vendor.unless(isTaken, (client) => client.createSecret(request, CALL));
      if (!made) return find(name);
      await add(name, content);
      return "created";
    },
    async replace(name, _, content) {
      await destroyOlder(name, await add(name, content));
      return true;
    },
    async remove(name, { etag }) {
      await unlessMissing((client) => client.deleteSecret({ name: path(name), etag }, CALL));
      return true;
    },
    close: () => vendor.close(),
  });
}

async function connectTo(options: GcpStoreOptions): Promise<SecretManagerServiceClient> {
  const client = await makeClient(options);
  // Initialize here: if a method does it and fails, it leaves a rejection that nobody can handle.
  await client.initialize();
  return client;
}

async function makeClient({ endpoint }: GcpStoreOptions): Promise<SecretManagerServiceClient> {
  const { SecretManagerServiceClient } = await optional(
    "gcp_secret_manager",
    () => import("@google-cloud/secret-manager"),
  );
  const { grpc, googleAuthLibrary } = await optional("gcp_secret_manager", () => import("google-gax"));
  const { setBackend } = await optional("gcp_secret_manager", () => import("google-logging-utils"));
  // With GOOGLE_SDK_NODE_LOGGING the client prints tokens, and with GRPC_TRACE what it sends.
  setBackend(null);
  grpc.setLogVerbosity(grpc.logVerbosity.NONE);
  if (endpoint === undefined) return new SecretManagerServiceClient();
  const { protocol, hostname, port } = new URL(endpoint);
  if (protocol !== "http:")
    return new SecretManagerServiceClient({ apiEndpoint: hostname, port: Number(port || 443) });
  return new SecretManagerServiceClient({
    apiEndpoint: hostname,
    port: Number(port || 80),
    sslCreds: grpc.credentials.createInsecure(),
    authClient: new googleAuthLibrary.PassThroughClient(),
  });
}

const numberOf = ({ name }: { readonly name?: string | null }): number => Number(name?.split("/").at(-1));

/** The codes of gRPC by number, and what each means for a call. */
const CODES: readonly (readonly [name: string, problem: SecretStoreProblem])[] = [
  ["OK", "passing"],
  ["CANCELLED", "passing"],
  ["UNKNOWN", "passing"],
  ["INVALID_ARGUMENT", "refused"],
  ["DEADLINE_EXCEEDED", "passing"],
  ["NOT_FOUND", "passing"],
  ["ALREADY_EXISTS", "passing"],
  ["PERMISSION_DENIED", "unavailable"],
  ["RESOURCE_EXHAUSTED", "throttled"],
  ["FAILED_PRECONDITION", "refused"],
  ["ABORTED", "passing"],
  ["OUT_OF_RANGE", "refused"],
  ["UNIMPLEMENTED", "unavailable"],
  ["INTERNAL", "passing"],
  ["UNAVAILABLE", "passing"],
  ["DATA_LOSS", "refused"],
  ["UNAUTHENTICATED", "unavailable"],
];

const LOG_IN =
  "groupsync logs in with Google's application default credentials: " +
  "does workload identity, or GOOGLE_APPLICATION_CREDENTIALS, name an account that is there?";
const RIGHTS =
  "the account needs secretmanager.secrets.create, .get and .delete and secretmanager.versions.access, .add, " +
  ".list and .destroy on the project, as roles/secretmanager.admin has them, and the Secret Manager API has to be enabled";

const HINTS: Readonly<Record<string, string>> = {
  INVALID_ARGUMENT: "a secret holds 64 KiB at most",
  NOT_FOUND: "is tokens.project the project's id, and does somebody else remove secrets there?",
  FAILED_PRECONDITION:
    "does a policy of the organization forbid secrets that Google replicates automatically?",
  PERMISSION_DENIED: RIGHTS,
  RESOURCE_EXHAUSTED: "the project's quota for Secret Manager is used up: ask Google for more",
  UNAUTHENTICATED: LOG_IN,
  UNIMPLEMENTED: "does tokens.endpoint name Secret Manager, by gRPC?",
};

/** The name of an error's gRPC code; undefined if the error came before the call. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error && "code" in error && typeof error.code === "number")) return undefined;
  return CODES[error.code]?.[0];
}

const isCode =
  (...codes: readonly string[]) =>
  (error: unknown): boolean =>
    codes.includes(codeOf(error) ?? "");

/** Whether the credentials were refused, or there are none. */
function isLoginFailure(error: unknown): boolean {
  const code = codeOf(error);
  if (code !== undefined && code !== "UNKNOWN") return code === "UNAUTHENTICATED";
  // The client reports a failed login in words alone. Once it is closed, it rejects with a string.
  return (
    error instanceof Error &&
    (code === undefined || error.message.includes("Getting metadata from plugin failed"))
  );
}

/** Uses only the code: messages and details may quote the request. */
function failureOf(error: unknown): SecretStoreFailure {
  if (isLoginFailure(error)) {
    const said = codeOf(error) === "UNAUTHENTICATED" ? "the login was refused" : "cannot log in";
    return new SecretStoreFailure("unavailable", said, LOG_IN);
  }
  const code = codeOf(error) ?? "CANCELLED";
  const problem = CODES.find(([name]) => name === code)?.[1] ?? "passing";
  const hint = HINTS[code] ?? "can Secret Manager be reached from here, and is it well?";
  return new SecretStoreFailure(problem, `it answered ${code}`, hint);
}
