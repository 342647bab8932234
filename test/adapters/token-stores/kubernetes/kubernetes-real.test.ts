import { KubernetesStore } from "../../../../src/adapters/token-stores/kubernetes/kubernetes-store.ts";
import { realSecretStoreSuite } from "../secrets/a-real-store.ts";

realSecretStoreSuite("Kubernetes", "GROUPSYNC_TEST_KUBECONFIG", (kubeconfig, scope) => {
  const namespace = process.env.GROUPSYNC_TEST_KUBERNETES_NAMESPACE;
  return new KubernetesStore({ kubeconfig, namespace, key: "token", scope });
});
