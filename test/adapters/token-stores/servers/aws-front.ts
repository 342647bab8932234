import { randomInt } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { SecretsManager, type Tag } from "@aws-sdk/client-secrets-manager";
import { onTestFinished } from "vitest";
import { listening } from "../../../support/servers/listening.ts";
import type { Moto } from "../../../support/servers/moto.ts";

export interface AwsCall {
  /** Such as `CreateSecret`. */
  readonly name: string;
  readonly body: string;
  readonly accessKey: string;
}

export interface AwsAnswer {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Stands between the store and moto, with an account of the running test's own. */
export interface AwsFront {
  readonly url: string;
  /** What the store has asked for, in order. */
  readonly calls: AwsCall[];
  /** Answers in moto's place, or breaks the line; undefined lets a call pass. */
  instead: (call: AwsCall) => AwsAnswer | "cut" | undefined;
  /** What somebody else does in the account: it never meets `instead`. */
  readonly others: SecretsManager;
  /** The secrets that are not deleted, by name. */
  contents(): Promise<Record<string, string>>;
}

export const REGION = "eu-central-1";
const OTHERS = "others";

/** An error as Secrets Manager answers it. */
export const anError = (type: string, message = "no", headers = {}): AwsAnswer => ({
  status: 400,
  body: JSON.stringify({ __type: type, Message: message }),
  headers: { "content-type": "application/x-amz-json-1.1", "x-amzn-errortype": type, ...headers },
});

export const tagsOf = (manager: string, scope: string): Tag[] => [
  { Key: "managed-by", Value: manager },
  { Key: "groupsync-name", Value: scope },
];

export async function anAwsFront(moto: Moto): Promise<AwsFront> {
  const account = String(randomInt(1e11, 1e12));
  const calls: AwsCall[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request);
    const [, name = ""] = String(request.headers["x-amz-target"]).split(".");
    const [, accessKey = ""] = /Credential=([^/]+)/.exec(request.headers.authorization ?? "") ?? [];
    const call = { name, body, accessKey };
    if (accessKey !== OTHERS) calls.push(call);
    const instead = accessKey === OTHERS ? undefined : front.instead(call);
    if (instead === "cut") return void request.socket.destroy();
    const headers = forwarded(request);
    const { status, ...rest } =
      instead ?? (await pass(`${moto.url}/`, { ...headers, "x-moto-account-id": account }, body));
    response.writeHead(status, rest.headers).end(rest.body);
  };
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  const { port } = await listening(server);
  const url = `http://127.0.0.1:${port}`;
  const others = new SecretsManager({
    endpoint: url,
    region: REGION,
    credentials: { accessKeyId: OTHERS, secretAccessKey: OTHERS },
  });
  const front: AwsFront = {
    url,
    calls,
    others,
    instead: () => undefined,
    contents: () => contentsOf(others),
  };
  onTestFinished(() => others.destroy());
  return front;
}

const PASSED = ["authorization", "content-type", "x-amz-target", "x-amz-date"];

const forwarded = ({ headers }: IncomingMessage): Record<string, string> =>
  Object.fromEntries(PASSED.map((name) => [name, String(headers[name] ?? "")]));

async function pass(url: string, headers: Record<string, string>, body: string): Promise<AwsAnswer> {
  const response = await fetch(url, { method: "POST", headers, body });
  return {
    status: response.status,
    body: await response.text(),
    headers: { "content-type": "application/x-amz-json-1.1" },
  };
}

async function contentsOf(others: SecretsManager): Promise<Record<string, string>> {
  const names: string[] = [];
  let NextToken: string | undefined;
  do {
    const page = await others.listSecrets({ MaxResults: 100, NextToken });
    names.push(...(page.SecretList ?? []).flatMap(({ Name }) => Name ?? []));
    NextToken = page.NextToken;
  } while (NextToken);
  const contents: Record<string, string> = {};
  for (const name of names)
    contents[name] = (await others.getSecretValue({ SecretId: name })).SecretString ?? "";
  return contents;
}
