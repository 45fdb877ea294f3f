// The only way the viewer makes elements: text becomes text nodes, never HTML. Knows no record.
export type Child = Node | string | false | null | undefined;
export type Properties = Record<string, string | number | boolean | undefined | ((event: never) => void)>;

/** Make an element; `on…` properties are listeners, true is an empty attribute, false and undefined are left out. */
export function el<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag, properties: Properties = {}, ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === "function") node.addEventListener(name.slice(2), value as EventListener);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== undefined) node.setAttribute(name, String(value));
  }
  append(node, children);
  return node;
}

export function append(node: Node, children: Child[]): void {
  for (const child of children) {
    if (child !== false && child !== null && child !== undefined) {
      node.appendChild(typeof child === "string" ? document.createTextNode(child) : child);
    }
  }
}

/** Replace what an element holds. */
export function fill(node: Element, ...children: Child[]): void {
  node.textContent = "";
  append(node, children);
}

/** A push button with a text. */
export function button(text: string, title: string, act: () => void, properties: Properties = {}): HTMLButtonElement {
  return el("button", { type: "button", title, "aria-label": title, onclick: act, ...properties }, text);
}

/** Make control and direction characters visible; they have no business in a listing. */
export function visible(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, "\ufffd");
}
