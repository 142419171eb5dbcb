/** SVG as text: elements, numbers, and the escaping of everything that comes from data. */

export type Attributes = Readonly<Record<string, string | number | undefined>>;

/** Text that came from data, safe as content and as an attribute's value. Characters that XML forbids are replaced. */
export function escapeText(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/** An element; `content` is markup. Attributes are escaped, undefined ones left out. */
export function element(name: string, attributes: Attributes, content?: string | readonly string[]): string {
  const written = Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}="${typeof value === "number" ? round(value) : escapeText(value!)}"`)
    .join("");
  const inner = content === undefined ? "" : typeof content === "string" ? content : content.join("");
  return inner === "" ? `<${name}${written}/>` : `<${name}${written}>${inner}</${name}>`;
}

export function text(content: string, attributes: Attributes): string {
  return element("text", attributes, escapeText(content));
}

/** At most two digits behind the point, and never "-0". */
export function round(value: number): string {
  return String(Math.round(value * 100) / 100 + 0);
}

/** Lines of at most `width` characters, broken between words where there is a blank. */
export function wrapped(content: string, width: number): string[] {
  const lines: string[] = [];
  for (let rest = content; rest !== ""; ) {
    const blank = rest.length <= width ? rest.length : rest.lastIndexOf(" ", width);
    const end = blank > 0 ? blank : width;
    lines.push(rest.slice(0, end));
    rest = rest.slice(end).trimStart();
  }
  return lines;
}
