import { randomBytes } from "node:crypto";
import type { Group } from "../../core/group/group.ts";
import { Secret } from "../../core/secret/secret.ts";
import type { GroupService, RemovableGroup, ServiceGroup } from "../../ports/group-service.ts";
import { readGetAnswer, readPostAnswer, successfulBody } from "./answer.ts";
import { type HttpServiceOptions, ServiceConnection } from "./service-connection.ts";

/** The service over HTTP. */
export class HttpGroupService implements GroupService {
  readonly #connection: ServiceConnection;

  constructor(options: HttpServiceOptions) {
    this.#connection = new ServiceConnection(options);
  }

  async getOrCreate(group: Group, beforeSend?: () => void): ReturnType<GroupService["getOrCreate"]> {
    const { user_group_id: id } = group;
    const { answer, request } = await this.#connection.send("GET", id, { ...group }, { beforeSend });
    return readGetAnswer(answer, request);
  }

  async rotate(id: string, currentToken: Secret, beforeSend?: () => void): Promise<ServiceGroup> {
    const fields = { current_token: currentToken.reveal() };
    const { answer, request } = await this.#connection.send("POST", id, fields, {
      beforeSend,
      secrets: [currentToken],
    });
    return readPostAnswer(answer, request);
  }

  async remove(
    { user_group_id, token, dataSourceId }: RemovableGroup,
    beforeSend?: () => void,
  ): Promise<void> {
    const fields = {
      current_token: token.reveal(),
      user_group_id,
      ...(dataSourceId === null ? {} : { data_source_provided_id: dataSourceId }),
    };
    const options = { beforeSend, secrets: [token] };
    const { answer, request } = await this.#connection.send("DELETE", user_group_id, fields, options);
    successfulBody(answer, request);
  }

  async getWithWrongKey(beforeSend?: () => void): Promise<void> {
    // Without an id, because something in between might put a good key in place of the wrong one.
    const { answer, request } = await this.#connection.send(
      "GET",
      "",
      { check: "groupsync" },
      { beforeSend, apiKey: randomSecret() },
    );
    successfulBody(answer, request);
  }

  async rotateNobody(beforeSend?: () => void): Promise<void> {
    const token = randomSecret();
    const fields = { current_token: token.reveal() };
    const { answer, request } = await this.#connection.send("POST", "", fields, {
      beforeSend,
      secrets: [token],
    });
    successfulBody(answer, request);
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}

/** As long as a real token, and no group's. */
const randomSecret = (): Secret => new Secret(`groupsync-check-${randomBytes(32).toString("base64url")}`);
