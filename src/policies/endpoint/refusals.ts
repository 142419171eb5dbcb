/** What an endpoint's refusal is about, as far as it says. Whether it really was about `n` or the schema, the same request without it tells. */

export interface Refusal {
  status?: number;
  body?: string;
}

/** Statuses after which no other request can succeed either. */
const FATAL = new Set([401, 402]);
/** How a refusal of structured output reads. */
const ABOUT_FORMAT = /response_format|json_schema|structured|guided|grammar|schema/i;
const FORMAT_STATUSES = new Set([400, 404, 415, 422, 500, 501]);
/** How a refusal of a field reads. */
const ABOUT_SUPPORT = /unsupported|not support|unknown|unrecognized|unexpected|deprecated|not permitted|cannot find field/i;

export const isFatal = ({ status }: Refusal): boolean => status !== undefined && FATAL.has(status);

/** Whether the request may be right without one of its fields. */
export const mayRefuseField = ({ status }: Refusal): boolean => status === 400 || status === 422;

/** A refusal that names the format, or any refusal of a request that may be right without it. */
export function mayRefuseSchema(refusal: Refusal): boolean {
  const { status, body } = refusal;
  if (status === undefined || !FORMAT_STATUSES.has(status)) return false;
  return mayRefuseField(refusal) || ABOUT_FORMAT.test(body ?? "");
}

/** The sampling field that a refusal names as not supported by the model: every other request would be refused alike. */
export function refusedField(refusal: Refusal): "temperature" | "top_p" | "seed" | undefined {
  const { body = "" } = refusal;
  if (!mayRefuseField(refusal)) return undefined;
  if (/temperature.*top_p.*cannot both be specified/.test(body)) return "top_p";
  if (!ABOUT_SUPPORT.test(body)) return undefined;
  return (["temperature", "top_p", "seed"] as const).find((field) => new RegExp(`\\b${field}\\b`).test(body));
}
