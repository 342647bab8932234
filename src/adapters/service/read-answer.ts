import * as z from "zod";
import { ServiceFailure } from "../../core/failure/service-failure.ts";
import { Secret } from "../../core/secret/secret.ts";
import type { JsonObject } from "../../core/text/json.ts";
import { hidesCharacters } from "../../core/text/printable.ts";
import type { GetAnswer, ServiceGroup } from "../../ports/group-service.ts";
import { answerFailure, answerText, failureCode } from "./answer-failure.ts";
import { jsonObject, type WireAnswer, type WireRequest } from "./wire-answer.ts";

const USER_GROUP = z.object({
  // No database could store a larger number.
  team_id: z.int(),
  token: z.string().refine(canBeToken),
  name: z.string(),
  provided_id: z.string(),
});
const POST_ANSWER = z.object({ user_group: USER_GROUP });
const GET_ANSWER = z.object({ new_user_group: z.boolean(), user_group: USER_GROUP });

/** No real token is longer, is blank, or has half of a surrogate pair or a character that nobody sees. */
function canBeToken(text: string): boolean {
  return /^\P{Cs}{1,8192}$/u.test(text) && text.trim() !== "" && !hidesCharacters(text);
}

/** Throws BAD_RESPONSE unless the answer to GET is complete and about the group that was asked for. */
export function readGetAnswer(answer: WireAnswer, request: WireRequest): GetAnswer {
  const { new_user_group: isNew, user_group } = readAnswer(GET_ANSWER, answer, request);
  return { isNew, group: serviceGroup(user_group) };
}

/** Reads the answer to POST in the same way. */
export const readPostAnswer = (answer: WireAnswer, request: WireRequest): ServiceGroup =>
  serviceGroup(readAnswer(POST_ANSWER, answer, request).user_group);

function readAnswer<T extends z.infer<typeof POST_ANSWER>>(
  schema: z.ZodType<T>,
  answer: WireAnswer,
  request: WireRequest,
): T {
  const parsed = schema.safeParse(successfulBody(answer, request));
  if (!parsed.success) {
    const fields = parsed.error.issues.map((issue) => issue.path.join(".")).join(", ");
    throw new ServiceFailure("BAD_RESPONSE", `${answerText(answer, request)} without a good ${fields}`);
  }
  if (parsed.data.user_group.provided_id !== request.id) {
    throw new ServiceFailure("BAD_RESPONSE", `${answerText(answer, request)} about another user group`);
  }
  if (parsed.data.user_group.token.includes(request.apiKey.reveal())) {
    const message = `${answerText(answer, request)} with the API key in the group's token`;
    throw new ServiceFailure("BAD_RESPONSE", message);
  }
  return parsed.data;
}

const serviceGroup = ({ team_id, token, name }: z.infer<typeof USER_GROUP>): ServiceGroup => ({
  teamId: team_id,
  token: new Secret(token),
  name,
});

/** The body of a call that succeeded. Throws any other answer as a ServiceFailure. */
export function successfulBody(answer: WireAnswer, request: WireRequest): JsonObject {
  const { status } = answer;
  const body = jsonObject(answer);
  if (status >= 200 && status < 300) {
    if (!body) throw answerFailure("BAD_RESPONSE", answer, request);
    if (body.success === 1) return body;
    // Only a clear no is a refusal. After any other value, the service may have done what was asked.
    const refused = body.success === 0 || body.success === false;
    throw answerFailure(refused ? "REFUSED" : "BAD_RESPONSE", answer, request);
  }
  throw answerFailure(failureCode(answer, request, body), answer, request);
}
