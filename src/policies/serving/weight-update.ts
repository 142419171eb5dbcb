/**
 * New weights for a running SGLang server: /pause_generation → /update_weights_from_disk → /continue_generation. An answer that does not
 * say `success` is refused, and so is a server that names another folder afterwards: it would go on answering with old weights.
 */
import { z } from "zod";
import { type ErrorDetail, ServingError } from "../../core/index.js";

const outcomeSchema = z.looseObject({ success: z.boolean(), message: z.string().nullish() });
const infoSchema = z.looseObject({ model_path: z.string() });

export interface UpdateOptions {
  /** Milliseconds for reading the weights. */
  timeout: number;
  signal?: AbortSignal | undefined;
}

/** @throws {ServingError} the server refused, did not answer in time, or has other weights than it was given. */
export async function updateWeights(url: string, model: string, { timeout, signal }: UpdateOptions): Promise<void> {
  // Reading the weights of a large model may take longer than Node's own fetch waits.
  const { patientFetch } = await import("../endpoint/patient-fetch.js");
  const stop = AbortSignal.any([AbortSignal.timeout(timeout), ...(signal === undefined ? [] : [signal])]);
  const call = async (method: "GET" | "POST", path: string, body?: object): Promise<{ status: number; text: string }> => {
    try {
      const response = await patientFetch(`${url}${path}`, {
        method,
        ...(body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
        signal: stop,
      });
      return { status: response.status, text: await response.text() };
    } catch (cause) {
      throw refused(model, { message: `${path} had no answer: ${(cause as Error).message}`, cause });
    }
  };
  const ordered = async (path: string) => {
    const { status, text } = await call("POST", path, {});
    if (status !== 200) throw refused(model, { message: `${path} answered ${status}: ${text.slice(0, 200)}` });
  };

  await ordered("/pause_generation");
  const { status, text } = await call("POST", "/update_weights_from_disk", { model_path: model });
  const outcome = outcomeSchema.safeParse(json(text));
  if (status !== 200 || !outcome.success || !outcome.data.success) {
    const said = outcome.success ? (outcome.data.message ?? "no reason given") : text.slice(0, 200);
    throw refused(model, { message: `/update_weights_from_disk answered ${status}: ${said}` });
  }
  await ordered("/continue_generation");
  const named = await call("GET", "/model_info");
  // Older servers have it under its older name alone.
  const info = named.status === 404 ? await call("GET", "/get_model_info") : named;
  const known = infoSchema.safeParse(json(info.text));
  if (info.status === 200 && known.success && known.data.model_path !== model) {
    throw refused(model, { message: `the server says that its weights are those of ${known.data.model_path}` });
  }
}

function refused(model: string, { message, cause }: Pick<ErrorDetail, "message" | "cause">): ServingError {
  return new ServingError({
    message: `sglang did not take the weights of ${model}: ${message}`,
    value: model,
    remedy: "serving.weights: restart starts the server anew for each checkpoint",
    cause,
  });
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
