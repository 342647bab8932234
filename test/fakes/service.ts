import { ServiceFailure, type ServiceFailureCode } from "../../src/core/failure/service-failure.ts";
import type { Group } from "../../src/core/group/group.ts";
import { Secret } from "../../src/core/secret/secret.ts";
import type { GroupService, RemovableGroup, ServiceGroup } from "../../src/ports/group-service.ts";
import type { Step } from "./instance.ts";

export interface HeldGroup {
  group: Group;
  token: string;
}

export interface ServiceRequest {
  readonly operation: "GET" | "POST" | "DELETE";
  readonly id: string;
  /** The data source that a DELETE names. */
  readonly dataSourceId?: string;
}

/** The state of the service, which outlives every process. */
export class ServiceState {
  /** Whether a GET changes an existing group. */
  existing: "keep" | "update" = "keep";
  /** Groups that a GET leaves as they are, whatever the service does otherwise. */
  readonly kept = new Set<string>();
  /** What the service makes of a name. */
  rewrites = (name: string): string => name;
  /** Whether a successful DELETE really deletes the group. */
  deletes = true;
  /** Whether a GET calls every group new. */
  saysNew = false;
  /** What identifies the group of a DELETE; the service ignores the other field. */
  deleteBy: "token" | "id" | "both" = "both";
  /** Whether a DELETE that finds no group counts as done. */
  deletesNothing = false;
  /** Whether a DELETE has to name a data source. */
  needsDataSource = false;
  /** Whether the token from before a rotation stays good. */
  keepsOldTokens = false;
  /** Whether the answer to a GET repeats the name that was sent, whatever the group's name is. */
  repeatsName = false;
  /** The team of the caller's key, which sees no other team's groups. */
  teamId = 7;
  /** Groups that get the token of another group, if that group exists. */
  readonly sameToken = new Map<string, string>();
  readonly requests: ServiceRequest[] = [];
  readonly #teams = new Map<number, Map<string, HeldGroup>>();
  #tokensMade = 0;

  get groups(): Map<string, HeldGroup> {
    const groups = this.#teams.get(this.teamId) ?? new Map<string, HeldGroup>();
    this.#teams.set(this.teamId, groups);
    return groups;
  }

  get tokens(): Map<string, string> {
    return new Map([...this.groups].map(([id, { token }]) => [id, token]));
  }

  /** The group that a POST with this token rotates. */
  holderOf(token: string): HeldGroup | undefined {
    const former = this.keepsOldTokens ? /^ugt_(.+)_\d+$/.exec(token)?.[1] : undefined;
    return [...this.groups.values()].find((held) => held.token === token) ?? this.groups.get(former ?? "");
  }

  newToken(id: string): string {
    const other = this.groups.get(this.sameToken.get(id) ?? "");
    if (other) return other.token;
    return `ugt_${id}_${++this.#tokensMade}`;
  }

  put(group: Group): HeldGroup {
    const held = { group, token: this.newToken(group.user_group_id) };
    this.groups.set(group.user_group_id, held);
    return held;
  }

  /** The id of the group that a DELETE deletes. */
  find(id: string, token: string): string | undefined {
    switch (this.deleteBy) {
      case "token":
        return [...this.groups].find(([, held]) => held.token === token)?.[0];
      case "id":
        return this.groups.has(id) ? id : undefined;
      case "both":
        return this.groups.get(id)?.token === token ? id : undefined;
    }
  }
}

/** A request that has left its sender. */
export type Sent =
  | { readonly operation: "GET"; readonly id: string; readonly group: Group }
  | { readonly operation: "POST" | "DELETE"; readonly id: string; readonly token: string };

/** Resolves when the request arrives at the service, even if its sender has died. */
export type Network = (request: Sent) => Promise<void>;

/** If the first point of a call rejects, the call fails without effect. If the second does, its answer is lost. */
export class InMemoryGroupService implements GroupService {
  readonly #state: ServiceState;
  readonly #step: Step;
  readonly #network: Network;

  constructor(state: ServiceState, step: Step, network: Network = async () => {}) {
    this.#state = state;
    this.#step = step;
    this.#network = network;
  }

  async getOrCreate(group: Group, beforeSend?: () => void): Promise<{ isNew: boolean; group: ServiceGroup }> {
    const state = this.#state;
    const id = group.user_group_id;
    await this.#step({ when: "before", call: "getOrCreate", id, group });
    beforeSend?.();
    await this.#network({ operation: "GET", id, group });
    state.requests.push({ operation: "GET", id });
    const existing = state.groups.get(id);
    const taken = { ...group, name: state.rewrites(group.name) };
    const held = existing ?? state.put(taken);
    if (state.existing === "update" && !state.kept.has(id)) held.group = taken;
    const name = state.repeatsName ? group.name : held.group.name;
    const answer = { teamId: state.teamId, token: new Secret(held.token), name };
    await this.#step({ when: "after", call: "getOrCreate", id });
    return { isNew: state.saysNew || existing === undefined, group: answer };
  }

  async rotate(id: string, currentToken: Secret, beforeSend?: () => void): Promise<ServiceGroup> {
    const state = this.#state;
    await this.#step({ when: "before", call: "rotate", id });
    beforeSend?.();
    await this.#network({ operation: "POST", id, token: currentToken.reveal() });
    state.requests.push({ operation: "POST", id });
    const held = state.holderOf(currentToken.reveal());
    if (held === undefined) throw new ServiceFailure("REFUSED", "POST was answered HTTP 404");
    held.token = state.newToken(held.group.user_group_id);
    const answer = { teamId: state.teamId, token: new Secret(held.token), name: held.group.name };
    await this.#step({ when: "after", call: "rotate", id });
    return answer;
  }

  async remove(
    { user_group_id: id, token, dataSourceId }: RemovableGroup,
    beforeSend?: () => void,
  ): Promise<void> {
    const state = this.#state;
    await this.#step({ when: "before", call: "remove", id });
    beforeSend?.();
    await this.#network({ operation: "DELETE", id, token: token.reveal() });
    state.requests.push({ operation: "DELETE", id, ...(dataSourceId === null ? {} : { dataSourceId }) });
    const isNamed = dataSourceId !== null || !state.needsDataSource;
    const found = isNamed ? state.find(id, token.reveal()) : undefined;
    if (found === undefined && !state.deletesNothing)
      throw new ServiceFailure("REFUSED", "DELETE was answered HTTP 404");
    if (found !== undefined && state.deletes) state.groups.delete(found);
    await this.#step({ when: "after", call: "remove", id });
  }

  getWithWrongKey(beforeSend?: () => void): Promise<void> {
    return this.#ask("getWithWrongKey", { operation: "GET", id: "" }, "KEY_REFUSED", beforeSend);
  }

  rotateNobody(beforeSend?: () => void): Promise<void> {
    return this.#ask("rotateNobody", { operation: "POST", id: "" }, "REFUSED", beforeSend);
  }

  async #ask(
    call: string,
    request: ServiceRequest,
    code: ServiceFailureCode,
    beforeSend?: () => void,
  ): Promise<void> {
    await this.#step({ when: "before", call });
    beforeSend?.();
    await this.#network({ operation: "POST", id: "", token: "of nobody" });
    this.#state.requests.push(request);
    await this.#step({ when: "after", call });
    throw new ServiceFailure(code, `${request.operation} was answered HTTP 404`);
  }
}
