import type { VaultReply } from "./vault-server.ts";

interface Version {
  data: unknown;
  deletedAt: string;
  destroyed: boolean;
}

interface Key {
  custom_metadata: Record<string, string> | null;
  max_versions: number;
  current_version: number;
  versions: Map<number, Version>;
}

interface Written extends Partial<Pick<Key, "custom_metadata" | "max_versions">> {
  readonly data?: unknown;
  readonly options?: { readonly cas?: number };
}

const CREATED = "2026-03-01T00:00:00.000000000Z";
const DEFAULT_VERSIONS = 10;
const nothing: VaultReply = { status: 404, body: { errors: [] } };
const empty: VaultReply = { status: 204 };
const refused = (...errors: string[]): VaultReply => ({ status: 400, body: { errors } });
const data = (value: unknown): VaultReply => ({ status: 200, body: { data: value } });

/** One KV version 2 engine, by its API reference: data, metadata, lists, deletions that can be undone. */
export class VaultKv {
  readonly keys = new Map<string, Key>();

  /** The fields of every current version. */
  contents(): Record<string, Record<string, unknown>> {
    const current = [...this.keys].flatMap(([name, key]) => {
      const version = key.versions.get(key.current_version);
      return version && !version.deletedAt && !version.destroyed ? [[name, version.data]] : [];
    });
    return Object.fromEntries(current);
  }

  answer(method: string, endpoint: string, name: string, list: boolean, body: unknown): VaultReply {
    const fields = (body ?? {}) as Written;
    switch (`${method} ${endpoint}`) {
      case "GET data":
        return this.#read(name);
      case "POST data":
        return this.write(name, fields.data, fields.options?.cas);
      case "DELETE data":
        return this.delete(name);
      case "GET metadata":
        return list ? this.#list(name) : this.#metadata(name);
      case "POST metadata":
        return this.describe(name, fields);
      case "DELETE metadata":
        this.keys.delete(name);
        return empty;
      default:
        return { status: 405, body: { errors: ["unsupported operation"] } };
    }
  }

  write(name: string, fields: unknown, cas?: number): VaultReply {
    if (typeof fields !== "object" || fields === null) return refused("no data provided");
    const key = this.keys.get(name) ?? this.#key();
    if (cas !== undefined && cas !== key.current_version)
      return refused("check-and-set parameter did not match the current version");
    key.current_version++;
    key.versions.set(key.current_version, { data: fields, deletedAt: "", destroyed: false });
    key.versions.delete(key.current_version - (key.max_versions || DEFAULT_VERSIONS));
    this.keys.set(name, key);
    return data(this.#version(key));
  }

  describe(name: string, fields: Partial<Pick<Key, "custom_metadata" | "max_versions">>): VaultReply {
    const key = this.keys.get(name) ?? this.#key();
    key.custom_metadata = fields.custom_metadata ?? key.custom_metadata;
    key.max_versions = fields.max_versions ?? key.max_versions;
    this.keys.set(name, key);
    return empty;
  }

  /** Deletes the current version so that it can be undeleted. */
  delete(name: string): VaultReply {
    const version = this.#current(name);
    if (version) version.deletedAt = CREATED;
    return empty;
  }

  destroy(name: string): void {
    const version = this.#current(name);
    if (version) version.destroyed = true;
  }

  #current(name: string): Version | undefined {
    const key = this.keys.get(name);
    return key?.versions.get(key.current_version);
  }

  #key(): Key {
    return { custom_metadata: null, max_versions: 0, current_version: 0, versions: new Map() };
  }

  #version({ custom_metadata, current_version, versions }: Key) {
    const { deletedAt = "", destroyed = false } = versions.get(current_version) ?? {};
    return {
      created_time: CREATED,
      custom_metadata,
      deletion_time: deletedAt,
      destroyed,
      version: current_version,
    };
  }

  #read(name: string): VaultReply {
    const key = this.keys.get(name);
    const version = this.#current(name);
    if (!key || !version) return nothing;
    const gone = version.deletedAt !== "" || version.destroyed;
    const found = { data: gone ? null : version.data, metadata: this.#version(key) };
    return { status: gone ? 404 : 200, body: { data: found } };
  }

  #metadata(name: string): VaultReply {
    const key = this.keys.get(name);
    if (!key) return nothing;
    const versions = [...key.versions].map(([number, { deletedAt, destroyed }]) => [
      number,
      { created_time: CREATED, deletion_time: deletedAt, destroyed },
    ]);
    return data({ ...key, cas_required: false, oldest_version: 0, versions: Object.fromEntries(versions) });
  }

  #list(folder: string): VaultReply {
    const below = [...this.keys.keys()].filter((name) => name.startsWith(folder));
    const keys = new Set(below.map((name) => name.slice(folder.length).replace(/\/.*$/, "/")));
    return keys.size === 0 ? nothing : data({ keys: [...keys].sort() });
  }
}
