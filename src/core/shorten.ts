/** The head and the tail of a long text, with the number of characters left out between them. */
export function shorten(text: string, cap: number): string {
  if (text.length <= cap) return text;
  const mark = ` [… ${text.length - cap} characters left out …] `;
  const head = Math.ceil((cap * 2) / 3);
  return text.slice(0, head) + mark + text.slice(text.length - (cap - head));
}
