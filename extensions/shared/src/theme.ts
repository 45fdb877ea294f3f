// Table of the colours, light and dark, and which of the two a host is. Colours of the host win where it names them.
export type Theme = "light" | "dark";

interface Row {
  /** Variables of the hosts, tried in order before our own colour. */
  host: string[];
  light: string;
  dark: string;
}

export const TOKENS: Record<string, Row> = {
  bg: { host: ["--jp-layout-color1", "--vscode-editor-background"], light: "#ffffff", dark: "#16181d" },
  fg: { host: ["--jp-content-font-color1", "--vscode-editor-foreground"], light: "#1f2328", dark: "#e4e8ee" },
  panel: { host: [], light: "#f6f7f9", dark: "#1c1f26" },
  line: { host: [], light: "#dfe3e8", dark: "#343a44" },
  quiet: { host: [], light: "#5c6672", dark: "#99a3b0" },
  accent: { host: [], light: "#0b62c4", dark: "#6cb0ff" },
  select: { host: [], light: "#cfe3fb", dark: "#1f4675" },
  kin: { host: [], light: "#e9f2fd", dark: "#1d2f47" },
  hover: { host: [], light: "#eef0f3", dark: "#262b34" },
  added: { host: [], light: "#e3f6e8", dark: "#173524" },
  removed: { host: [], light: "#fdeaea", dark: "#42222a" },
  changed: { host: [], light: "#fff5da", dark: "#3b3216" },
  good: { host: [], light: "#19713a", dark: "#5fce84" },
  bad: { host: [], light: "#b42318", dark: "#ff8f85" },
  warn: { host: [], light: "#8a5300", dark: "#f0b95c" },
  comment: { host: [], light: "#616a74", dark: "#929cab" },
  keyword: { host: [], light: "#7a3fbf", dark: "#cda6ff" },
  number: { host: [], light: "#0b5394", dark: "#8cc4ff" },
  name: { host: [], light: "#0a6666", dark: "#73d3c9" },
  type: { host: [], light: "#8f4a11", dark: "#f3b178" },
  string: { host: [], light: "#2f6b2f", dark: "#a3d39c" },
};

/** Colours of source lines, one after the other (Okabe and Ito's set, which colour-blind people can tell apart). */
export const THREADS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999933", "#8877cc"];

/** The style rules that define the tokens. */
export function tokenRules(): string {
  const rules = (theme: Theme): string => Object.entries(TOKENS).map(([name, row]) => {
    const own = row.host.reduceRight((inner, variable) => `var(${variable}, ${inner})`, row[theme]);
    return `--tt-${name}: ${own};`;
  }).join(" ");
  return `.tt { ${rules("light")} color-scheme: light; } .tt[data-theme="dark"] { ${rules("dark")} color-scheme: dark; }`;
}

/** The relative luminance of a colour like `rgb(1, 2, 3)` or `#010203` (WCAG 2.2). */
export function luminance(color: string): number {
  const hex = /^#([\da-f]{6})$/i.exec(color.trim());
  const channels = hex ? [0, 2, 4].map(i => parseInt(hex[1].slice(i, i + 2), 16)) : (color.match(/[\d.]+/g) ?? []).map(Number);
  const [r, g, b] = channels.map(value => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** The contrast ratio of two colours. */
export function contrast(a: string, b: string): number {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

/** Light or dark, by the first opaque background behind an element. */
export function themeOf(element: Element): Theme {
  for (let node: Element | null = element; node; node = parentOf(node)) {
    const color = getComputedStyle(node).backgroundColor;
    const parts = (color.match(/[\d.]+/g) ?? []).map(Number);
    if (parts.length === 3 || (parts.length === 4 && parts[3] > 0.5)) return luminance(color) < 0.4 ? "dark" : "light";
  }
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

function parentOf(node: Element): Element | null {
  if (node.parentElement) return node.parentElement;
  const root = node.getRootNode();
  return root instanceof ShadowRoot ? root.host : null;
}
