/**
 * A fetch that waits as long as its caller lets it. Node's own ends a request whose headers have not come within five minutes, and a model
 * that thinks gives none before its whole answer is there. How long an attempt may take is the transport's to say.
 */
import { Agent, fetch as undiciFetch } from "undici";

const patient = new Agent({ headersTimeout: 0, bodyTimeout: 0 });

export const patientFetch = ((url: Parameters<typeof undiciFetch>[0], init?: Parameters<typeof undiciFetch>[1]) =>
  undiciFetch(url, { ...init, dispatcher: patient })) as unknown as typeof fetch;
