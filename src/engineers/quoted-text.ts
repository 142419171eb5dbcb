/**
 * Text that a policy wrote, as it may stand in a context: cut to a length, escaped onto one line, in quotation marks. It cannot open a
 * heading, a fence, a tag or a table cell, so it stays data. Nothing is interpreted here.
 */
import { shorten } from "../core/index.js";

/** A JSON string literal of at most about `cap` characters of the text, with Markdown's and HTML's active characters escaped too. */
export function quoteText(text: string, cap: number): string {
  return JSON.stringify(shorten(text, cap)).replace(/[`<>|*_[\]#\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, escapeCharacter);
}

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
