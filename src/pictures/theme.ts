/**
 * Colours of the pictures. Agents have Okabe and Ito's palette, which colour-blind readers tell apart, and always their number as well;
 * nothing is said by colour alone. Each theme is a list of rules under the picture's own class, so that pictures of different themes can
 * stand in one page.
 */
export const THEMES = ["auto", "light", "dark"] as const;
/** `auto` follows the reader's setting (prefers-color-scheme); rasterisers without it get light. */
export type Theme = (typeof THEMES)[number];

/** Fill and the colour of the number on it, by agent. */
export const AGENT_COLOURS: readonly (readonly [fill: string, ink: string])[] = [
  ["#0072B2", "#FFFFFF"],
  ["#E69F00", "#000000"],
  ["#009E73", "#FFFFFF"],
  ["#CC79A7", "#000000"],
  ["#D55E00", "#FFFFFF"],
  ["#56B4E9", "#000000"],
  ["#F0E442", "#000000"],
  ["#8C8C8C", "#000000"],
];

interface Colours {
  page: string;
  ice: string;
  edge: string;
  water: string;
  ripple: string;
  ink: string;
  faint: string;
  alert: string;
  alertWash: string;
  halo: string;
}

const LIGHT: Colours = {
  page: "#FFFFFF",
  ice: "#E6F0F6",
  edge: "#C3D6E2",
  water: "#1D3A4C",
  ripple: "#7FA3B8",
  ink: "#1B2A33",
  faint: "#5C717E",
  alert: "#B00040",
  alertWash: "#FFD6E2",
  halo: "#FFFFFF",
};

const DARK: Colours = {
  page: "#0D1317",
  ice: "#18242B",
  edge: "#3A4F5B",
  water: "#000000",
  ripple: "#6E93A9",
  ink: "#E8F0F4",
  faint: "#9DB2BE",
  alert: "#FF6E97",
  alertWash: "#5A1F33",
  halo: "#0B1114",
};

/** The style sheet of one picture. */
export function themeStyle(theme: Theme): string {
  const own = rules(`.ew-${theme}`, theme === "dark" ? DARK : LIGHT);
  return theme === "auto" ? `${own}\n@media (prefers-color-scheme: dark) {\n${rules(".ew-auto", DARK)}\n}` : own;
}

function rules(root: string, c: Colours): string {
  return [
    `${root} .ew-page{fill:${c.page}}`,
    `${root} .ew-ice{fill:${c.ice};stroke:${c.edge}}`,
    `${root} .ew-water{fill:${c.water};stroke:${c.edge}}`,
    `${root} .ew-ripple{fill:none;stroke:${c.ripple}}`,
    `${root} .ew-ink{fill:${c.ink}}`,
    `${root} .ew-faint{fill:${c.faint}}`,
    `${root} .ew-line{fill:none;stroke:${c.faint}}`,
    `${root} .ew-halo{fill:none;stroke:${c.halo}}`,
    `${root} .ew-disc{stroke:${c.halo}}`,
    `${root} .ew-alert{fill:none;stroke:${c.alert}}`,
    `${root} .ew-alert-fill{fill:${c.alert}}`,
    `${root} .ew-alert-ink{fill:${c.page}}`,
    `${root} .ew-wash{fill:${c.alertWash}}`,
  ].join("\n");
}
