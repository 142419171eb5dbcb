/** A long text cut to its head and tail, with a mark between them that says how much was left out. */
export function shorten(text: string, cap: number): string {
  if (text.length <= cap) return text;
  const head = Math.ceil((cap * 2) / 3);
  return `${text.slice(0, head)} [… ${text.length - cap} characters left out …] ${text.slice(text.length - (cap - head))}`;
}
