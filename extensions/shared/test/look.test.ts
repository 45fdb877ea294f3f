// Colours can be read; tokens put together are the line again, whatever the line.
import assert from "node:assert/strict";
import { test } from "node:test";
import { contrast, luminance, TOKENS } from "../src/theme.js";
import { tokenize } from "../src/tokens.js";
import { vadd } from "./vectors.js";

const WORDS = ["fg", "quiet", "accent", "good", "bad", "warn", "comment", "keyword", "number", "name", "type", "string"];
const GROUNDS = ["bg", "panel", "kin", "hover", "added", "removed", "changed"];

for (const theme of ["light", "dark"] as const) {
  test(`every word can be read on every ground, ${theme}`, () => {
    const poor = WORDS.flatMap(word => GROUNDS.map(ground => [word, ground, contrast(TOKENS[word][theme], TOKENS[ground][theme])] as const))
      .filter(([, , ratio]) => ratio < 4.5).map(([word, ground, ratio]) => `${word} on ${ground}: ${ratio.toFixed(2)}`);
    assert.deepEqual(poor, []);
  });
}

test("luminance of black and white", () => {
  assert.equal(luminance("#000000"), 0);
  assert.equal(luminance("rgb(255, 255, 255)"), 1);
});

test("tokens put together are the line", () => {
  const lines = vadd().stages.flatMap(stage => stage.lines.map(line => [line.text, stage.kind] as const));
  const odd = ["</script>", "\u202e", "%", "@", "/*", '"""', "<".repeat(50), "tile<tile<tile<", "a".repeat(3000)];
  for (const [line, kind] of [...lines, ...odd.flatMap(text => ["source", "ir", "asm", "tree", "__proto__"].map(kind => [text, kind] as const))]) {
    assert.equal(tokenize(line, kind).map(token => token.text).join(""), line);
  }
});

test("mnemonics and registers have their colours", () => {
  const kinds = (line: string, kind: string): string => tokenize(line, kind).filter(token => token.kind !== "plain").map(token => `${token.kind}:${token.text}`).join(" ");
  assert.equal(kinds("\t@!%p1 bra $done;", "asm"), "name:@!%p1 keyword:bra name:$done");
  assert.equal(kinds("/*00a0*/ LDG.E R2, [R2.64] ;", "asm"), "comment:/*00a0*/ keyword:LDG.E name:R2 name:R2");
  assert.equal(kinds("  %3 = shl %1, %2 : i32", "ir"), "name:%3 keyword:shl name:%1 name:%2 type:i32");
});
