/** What a model read or wrote: text, whatever it holds. */

/** Compact words get a break before every stratum, for the eye alone; copied text is the exact one. */
export function ModelText({ text, label }: { text: string; label: string }) {
  const pieces = /^<\w/.test(text) ? text.split(/(?=<(?:stratum|step|current|history|propose|next)[:>])/) : [text];
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section class="model-text" tabIndex={0} aria-label={label}>
      {pieces.map((piece, i) => (
        <span key={i} class={pieces.length > 1 ? "piece" : ""}>
          {piece}
        </span>
      ))}
    </section>
  );
}
