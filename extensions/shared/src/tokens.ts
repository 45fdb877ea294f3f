// Cuts a line of code into coloured pieces, one table of patterns per language. Colours only; nothing is understood.
export type TokenKind = "plain" | "comment" | "keyword" | "number" | "name" | "type" | "string";

export interface Token {
  kind: TokenKind;
  text: string;
}

type Rule = [TokenKind, string];

const NUMBER: Rule = ["number", String.raw`(?<![\w%.$])-?(?:0[xX][\da-fA-F]+|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\b`];
const PYTHON: Rule[] = [
  ["comment", "#.*"],
  ["string", String.raw`"""[\s\S]*?(?:"""|$)|"[^"]*"|'[^']*'`],
  ["keyword", String.raw`@[\w.]+|\b(?:and|as|assert|break|class|continue|def|elif|else|for|from|if|import|in|is|lambda|not|or|pass|return|while|with|None|True|False)\b`],
  ["type", String.raw`\b(?:tl|tt)\.\w+(?:\.\w+)?`],
  NUMBER,
];
const TYPES = String.raw`\b(?:tile|ptr|type)<[^=;]*?>(?!\w)(?:>)?|\b(?:[iuf]\d+|bf16|index|void|ptr|float|double|half|label|addrspace\(\d\))\b`;
const IR: Rule[] = [
  ["comment", String.raw`//.*|;.*|, !dbg !\d+|^!.*`],
  ["name", String.raw`[%@#][\w.$]+`],
  ["type", TYPES],
  ["keyword", String.raw`(?<=[=] )[a-z_][\w.]*|^\s*[a-z_][\w.]*(?=[ {(]|$)`],
  NUMBER,
];
const ASM: Rule[] = [
  ["comment", String.raw`//.*|/\*.*?\*/|^\s*\.[a-z_]+.*`],
  ["name", String.raw`%[\w.]+|\b(?:U?R\d+|RZ|URZ|U?P\d|PT|SR_[\w.]+)\b|[$@!]+[\w%]+`],
  ["keyword", String.raw`(?<=^\s*(?:@!?%?\w+\s+)?)[A-Za-z][\w.]*|(?<=\*/\s*(?:@!?U?P\w+\s+)?)[A-Z][\w.]*`],
  NUMBER,
];
const TREE: Rule[] = [
  ["comment", "[│├└─ ]+(?=[A-Z])"],
  ["keyword", String.raw`\b[A-Z]\w+`],
  ["type", String.raw`(?<=: ).*$`],
  NUMBER,
];
const LANGUAGES: Record<string, RegExp> = {
  source: compile(PYTHON), ir: compile(IR), asm: compile(ASM), tree: compile(TREE),
};

/** Cut `line`; the pieces put together are `line` again. */
export function tokenize(line: string, language: string): Token[] {
  const pattern = Object.hasOwn(LANGUAGES, language) ? LANGUAGES[language] : undefined;
  if (!pattern || line.length > 2000) return [{ kind: "plain", text: line }];
  const tokens: Token[] = [];
  let place = 0;
  for (const match of line.matchAll(pattern)) {
    const kind = Object.entries(match.groups ?? {}).find(([, text]) => text !== undefined)?.[0] as TokenKind;
    if (match.index > place) tokens.push({ kind: "plain", text: line.slice(place, match.index) });
    tokens.push({ kind, text: match[0] });
    place = match.index + match[0].length;
  }
  if (place < line.length || !tokens.length) tokens.push({ kind: "plain", text: line.slice(place) });
  return tokens;
}

function compile(rules: Rule[]): RegExp {
  return new RegExp(rules.map(([kind, pattern]) => `(?<${kind}>${pattern})`).join("|"), "g");
}
