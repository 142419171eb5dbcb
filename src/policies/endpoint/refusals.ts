/** What an endpoint's refusal is about, as far as it says. Whether it really was about `n` or the schema, the same request without it tells. */
import { z } from "zod";

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

const SAMPLING = ["temperature", "top_p", "seed"] as const;

/**
 * The sampling field that a refusal names as not supported by the model: every other request would be refused alike. Read in what the error
 * says and nowhere else: many servers repeat the request beside it, and that names them all.
 */
export function refusedField(refusal: Refusal): (typeof SAMPLING)[number] | undefined {
  if (!mayRefuseField(refusal)) return undefined;
  const { message, param } = saidIn(refusal.body ?? "");
  if (/temperature.*top_p.*cannot both be specified/.test(message)) return "top_p";
  if (!ABOUT_SUPPORT.test(message)) return undefined;
  if (param !== undefined) return SAMPLING.find((field) => field === param);
  return SAMPLING.find((field) => new RegExp(`\\b${field}\\b`).test(message));
}

const maybe = z.string().optional().catch(undefined);
/** OpenAI's error, or FastAPI's list of fields that did not validate. */
const errorSchema = z.looseObject({
  message: maybe,
  param: maybe,
  detail: z
    .union([z.string(), z.array(z.looseObject({ loc: z.array(z.union([z.string(), z.number()])), msg: z.string() }))])
    .optional()
    .catch(undefined),
});

/** The error's own words, and the field that it is about where it names one apart. Of JSON that is no error known here, nothing. */
function saidIn(body: string): { message: string; param: string | undefined } {
  let whole: unknown;
  try {
    whole = JSON.parse(body);
  } catch {
    return { message: body, param: undefined };
  }
  // Google's layer puts its error into a list.
  const value = (Array.isArray(whole) ? whole[0] : whole) as { error?: unknown } | null | undefined;
  const error = value?.error ?? value;
  if (typeof error === "string") return { message: error, param: undefined };
  const { message, param, detail } = errorSchema.safeParse(error).data ?? {};
  const invalid = typeof detail === "string" ? detail : (detail ?? []).map(({ loc, msg }) => `${loc.join(".")}: ${msg}`).join("; ");
  return { message: message ?? invalid, param };
}
