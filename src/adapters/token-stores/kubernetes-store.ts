import { createHash } from "node:crypto";
import type { V1ObjectMeta, V1Secret, V1Status } from "@kubernetes/client-node";
import { Secret } from "../../core/secret/secret.ts";
import { SECRET_NAMING } from "../../core/tokens/secrets.ts";
import {
  failureOf,
  isStatus,
  type KubernetesAccess,
  kubernetesClient,
  notTheApi,
} from "./kubernetes-client.ts";
import { hasTags, SCOPE_MARK, type SecretStore, scopeIn } from "./secret-store.ts";
import { beingDeleted, taggedStore, type VendorSecret } from "./tagged-store.ts";
import { expected, isForGood, systemCodeOf, VendorClient } from "./vendor-client.ts";

export interface KubernetesStoreOptions extends KubernetesAccess {
  /** The key of the token in the Secret's data. */
  readonly key: string;
  /** The config's name. */
  readonly scope: string;
}

const MANAGED_BY = "app.kubernetes.io/managed-by";
const GROUP_ID = "groupsync/user_group_id";

interface FoundSecret extends VendorSecret {
  readonly object: V1Secret;
}

/** One Secret object for each group, of type Opaque. */
export function kubernetesStore(options: KubernetesStoreOptions): SecretStore {
  let known: string | undefined;
  const vendor = new VendorClient({
    connect: async () => {
      const client = await kubernetesClient(options);
      known = client.namespace;
      return client;
    },
    // Connect again: the kubeconfig's token, or its certificates, may have been replaced.
    isLoginFailure: (error) => isStatus(401)(error) || isForGood(systemCodeOf(error)),
    failureOf: (error) => failureOf(error, known ?? ""),
    close: (client) => client.close(),
  });
  const ours = { [MANAGED_BY]: "groupsync", [SCOPE_MARK]: labelValue(options.scope) };

  function dataOf(content: Secret): Record<string, string> {
    return { [options.key]: Buffer.from(content.reveal(), "utf8").toString("base64") };
  }

  function contentOf({ data }: V1Secret): Secret {
    return new Secret(Buffer.from(data?.[options.key] ?? "", "base64").toString("utf8"));
  }

  async function find(name: string): Promise<FoundSecret | undefined> {
    const object = await vendor.call(({ core, namespace }) =>
      core
        .readNamespacedSecret({ name, namespace })
        .then((found) => genuine("Secret", found), expected(isStatus(404), undefined)),
    );
    if (!object) return undefined;
    const labels = object.metadata?.labels;
    return {
      object,
      isManaged: hasTags(labels, ours),
      scope: scopeIn(labels),
      leaving: object.metadata?.deletionTimestamp && HELD,
      content: async () => contentOf(object),
    };
  }

  return taggedStore({
    naming: SECRET_NAMING.kubernetes,
    /**
     * Names the namespace once it is known: if the config leaves it out, it is the service account's or the context's.
     */
    get title(): string {
      const { namespace = known, context } = options;
      return [
        "Kubernetes",
        ...(context === undefined ? [] : [`context ${context}`]),
        ...(namespace === undefined ? [] : [`namespace ${namespace}`]),
      ].join(", ");
    },
    find,
    async create(name, content, groupId) {
      const body = {
        apiVersion: "v1",
        kind: "Secret",
        type: "Opaque",
        metadata: { name, labels: ours, annotations: annotations(groupId) },
        data: dataOf(content),
      };
      const isMade = await vendor.call(({ core, namespace }) =>
        core.createNamespacedSecret({ namespace, body }).then(isDone, expected(isStatus(409), false)),
      );
      return isMade ? "created" : find(name);
    },
    /** Keeps what others have added to the Secret. */
    replace(name, { object }, content, groupId) {
      // Leave managedFields out: the server then keeps its own record of who owns which field.
      const { managedFields: _, ...metadata }: V1ObjectMeta = object.metadata ?? {};
      const body = {
        ...object,
        metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations(groupId) } },
        data: { ...object.data, ...dataOf(content) },
      };
      return vendor.call(({ core, namespace }) =>
        core
          .replaceNamespacedSecret({ name, namespace, body })
          .then(isDone, expected(isStatus(409), false))
          .catch(expected(isStatus(404), false)),
      );
    },
    async remove(name, { object, leaving }) {
      if (leaving) throw beingDeleted(name, leaving);
      const uid = object.metadata?.uid;
      const body = uid === undefined ? {} : { preconditions: { uid } };
      return vendor.call(({ core, namespace }) =>
        core
          .deleteNamespacedSecret({ name, namespace, body })
          .then(isGone, expected(isStatus(409), false))
          .catch(expected(isStatus(404), true)),
      );
    },
    close: () => vendor.close(),
  });
}

/** Checks the kind of an answer: the client takes any JSON for what it expects. */
function genuine<T extends { readonly kind?: string }>(kind: string, answer: T): T {
  if (answer?.kind !== kind) throw notTheApi();
  return answer;
}

const isDone = (answer: V1Secret): boolean => genuine("Secret", answer) === answer;

/** If a finalizer holds the Secret, the answer is the Secret itself. */
const isGone = (answer: V1Status): boolean =>
  answer?.kind !== "Secret" && genuine("Status", answer).status === "Success";

const annotations = (groupId: string | undefined): Record<string, string> =>
  groupId === undefined ? {} : { [GROUP_ID]: groupId };

/**
 * A label's value has at most 63 letters, digits, dots, dashes and underscores, and begins and ends with a letter or
 * digit.
 */
function labelValue(scope: string): string {
  if (/^[A-Za-z0-9](?:[\w.-]{0,61}[A-Za-z0-9])?$/.test(scope)) return scope;
  return `sha256-${createHash("sha256").update(scope, "utf8").digest("hex").slice(0, 56)}`;
}

const HELD = "a finalizer holds it: look at its metadata.finalizers; the next sync goes on once it is gone";
