import { expect, test } from "vitest";
import { documentsIn, image, loadDeployed, secretsAt } from "./files.ts";

test("compose.yaml runs the image with few rights, and mounts the folders that the config reads", () => {
  const [{ services }] = documentsIn("compose.yaml");
  const { groupsync } = services;
  expect(groupsync).toMatchObject({
    ...{ read_only: true, tmpfs: ["/tmp"], cap_drop: ["ALL"], security_opt: ["no-new-privileges:true"] },
    ...{ restart: "unless-stopped", stop_grace_period: "30s", ports: [`127.0.0.1:8080:${image.port}`] },
    ...{ ulimits: { core: 0 }, memswap_limit: groupsync.mem_limit },
  });
  // No secrets in the environment: a process's environment can be read in more places than a file.
  expect(groupsync.environment).toBeUndefined();
  const [config, secrets = ""] = groupsync.volumes.map((volume: string) => volume.split(":")[1]);
  expect(`${config}/config.yaml`).toBe(image.config);
  expect(groupsync.volumes.filter((volume: string) => !volume.endsWith(":ro"))).toEqual([]);
  const { shutdownTimeoutMs } = loadDeployed(secretsAt(secrets));
  expect(Number.parseInt(groupsync.stop_grace_period, 10) * 1000).toBeGreaterThan(shutdownTimeoutMs);
});
