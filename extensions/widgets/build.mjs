// Bundles the modules of this folder into the Python package and keeps the viewer core within its budget.
import { build } from "esbuild";
import { statSync } from "node:fs";

const OUTPUT = "../../tinyton_lab/lab/static";
const VIEWER_BYTES = 120_000;

await build({
  entryPoints: ["src/viewer.ts", "src/inspector.ts", "src/page.ts"],
  outdir: OUTPUT,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
});
const { size } = statSync(`${OUTPUT}/viewer.js`);
if (size > VIEWER_BYTES) throw new Error(`the viewer core is ${size} bytes, more than ${VIEWER_BYTES}`);
console.log(`viewer.js ${size} bytes`);
