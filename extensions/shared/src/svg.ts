// Rebuilds a drawing from SVG text by an allow-list: shapes and words come through, anything that can act does not.
const NAMESPACE = "http://www.w3.org/2000/svg";
const ELEMENTS = new Set(["svg", "g", "path", "polygon", "polyline", "ellipse", "circle", "rect", "line", "text", "tspan", "title"]);
const ATTRIBUTES = new Set([
  "viewBox", "width", "height", "transform", "class", "d", "points", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "rx",
  "ry", "r", "fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "text-anchor", "font-size", "font-weight",
]);

/** Rebuild `text` as inert SVG elements; null where it is no SVG. */
export function inert(text: string): SVGSVGElement | null {
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
  const root = parsed.documentElement;
  if (root.namespaceURI !== NAMESPACE || root.localName !== "svg" || parsed.querySelector("parsererror")) return null;
  return copy(root) as SVGSVGElement;
}

function copy(source: Element): SVGElement | null {
  if (source.namespaceURI !== NAMESPACE || !ELEMENTS.has(source.localName)) return null;
  const node = document.createElementNS(NAMESPACE, source.localName);
  for (const attribute of source.attributes) {
    const safe = ATTRIBUTES.has(attribute.name) && !/url\(|javascript:|expression/i.test(attribute.value);
    if (safe) node.setAttribute(attribute.name, attribute.value);
  }
  for (const child of source.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) node.appendChild(document.createTextNode(child.nodeValue ?? ""));
    else if (child.nodeType === Node.ELEMENT_NODE) {
      const inner = copy(child as Element);
      if (inner) node.appendChild(inner);
    }
  }
  return node;
}

/** The op numbers that a node's class names carry (`u12`). */
export function uidsOf(node: Element): number[] {
  return (node.getAttribute("class") ?? "").split(/\s+/).filter(name => /^u\d+$/.test(name)).map(name => Number(name.slice(1)));
}
