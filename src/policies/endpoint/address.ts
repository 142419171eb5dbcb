/**
 * What a policy is apart from where it is asked: a server that moved serves the same model. Says nothing of whether it really does; the name
 * and the settings must agree in everything else.
 */

/** The name of an endpoint's policy without the base URL that it may end in. */
export const withoutAddress = (name: string): string => name.replace(/@https?:\/\/.*$/s, "");

/** Settings without the base URL. */
export function apartFromAddress(settings: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { base_url: _, ...rest } = settings;
  return rest;
}
