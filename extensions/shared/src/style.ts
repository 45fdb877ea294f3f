// The style of the viewer; colours only through the tokens of theme.ts.
import { tokenRules } from "./theme.js";

const CODE = `font: 12.5px/20px var(--jp-code-font-family, ui-monospace, SFMono-Regular, Menlo, Consolas, monospace);`;

const RULES = `
:host { display: block; }
.tt { position: relative; display: flex; flex-direction: column; background: var(--tt-bg); color: var(--tt-fg);
  font: 13px/1.45 var(--jp-ui-font-family, system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif);
  border: 1px solid var(--tt-line); border-radius: 8px; overflow: hidden; text-align: left; }
.tt.fills { height: 100%; border: 0; border-radius: 0; }
.tt:focus { outline: none; } .tt:focus-visible { outline: 2px solid var(--tt-accent); outline-offset: -1px; }
.tt *, .tt *::before { box-sizing: border-box; }
h2, h3, h4, p, pre, ul, ol, figure { margin: 0; }
button, select, input { font: inherit; color: inherit; }
button { cursor: pointer; background: none; border: 0; padding: 0; }
button:focus-visible, select:focus-visible, input:focus-visible { outline: 2px solid var(--tt-accent); outline-offset: 1px; border-radius: 4px; }
.quiet, .doc { color: var(--tt-quiet); } .good { color: var(--tt-good); } .bad { color: var(--tt-bad); } .warn { color: var(--tt-warn); }
.empty { padding: 20px 16px; color: var(--tt-quiet); }
kbd { ${CODE} font-size: 11px; line-height: 18px; padding: 0 5px; border: 1px solid var(--tt-line); border-radius: 4px; background: var(--tt-panel); }

.head { border-bottom: 1px solid var(--tt-line); }
.title { display: flex; align-items: center; gap: 8px; padding: 10px 14px 4px; flex-wrap: wrap; }
.title h2 { ${CODE} font-size: 15px; font-weight: 600; margin-right: 4px; overflow-wrap: anywhere; }
.chip { ${CODE} font-size: 11.5px; line-height: 18px; padding: 0 7px; border-radius: 9px; background: var(--tt-panel); color: var(--tt-quiet); border: 1px solid var(--tt-line); }
.space { flex: 1; }
.segments { display: inline-flex; border: 1px solid var(--tt-line); border-radius: 6px; overflow: hidden; background: var(--tt-panel); }
.segments button { padding: 2px 10px; min-height: 24px; min-width: 28px; color: var(--tt-quiet); border-right: 1px solid var(--tt-line); white-space: nowrap; }
.segments button:last-child { border-right: 0; }
.segments button:hover { color: var(--tt-fg); }
.segments button.current { background: var(--tt-bg); color: var(--tt-accent); font-weight: 600; }
button.plain { min-width: 24px; min-height: 24px; padding: 0 7px; color: var(--tt-quiet); border-radius: 6px; }
button.plain:hover { color: var(--tt-fg); background: var(--tt-hover); }
button.link { color: var(--tt-accent); padding: 0 4px; min-height: 24px; } button.link:hover { text-decoration: underline; }
.verdict { display: flex; align-items: baseline; gap: 8px; padding: 0 14px 8px; min-width: 0; }
.verdict .say { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; min-width: 0; }
.verdict .resources { margin-left: auto; white-space: nowrap; padding-left: 16px; }
.fault { ${CODE} flex: 1; padding: 6px 10px; border-left: 3px solid var(--tt-bad); background: var(--tt-panel); overflow-x: auto; max-height: 200px; }
.strip { display: flex; overflow-x: auto; padding: 0 8px; scrollbar-width: thin; }
.stage { position: relative; display: flex; align-items: baseline; gap: 6px; padding: 5px 12px 8px 8px; white-space: nowrap; color: var(--tt-quiet); border-bottom: 2px solid transparent; }
.stage:not(:last-child)::after { content: "›" / ""; position: absolute; right: -2px; color: var(--tt-quiet); opacity: .6; }
.stage .key { font-size: 10px; opacity: .75; min-width: 1ch; } .stage .stage-title { color: var(--tt-fg); } .stage .extent { font-size: 11px; }
.stage:hover .stage-title { color: var(--tt-accent); }
.stage.current { border-bottom-color: var(--tt-accent); } .stage.current .stage-title { font-weight: 600; }
.stage .dot { position: absolute; left: 50%; bottom: 2px; width: 4px; height: 4px; margin-left: -2px; border-radius: 2px; background: transparent; }
.stage.lit .dot { background: var(--tt-accent); }

.main { flex: none; height: var(--tt-height, 400px); display: flex; position: relative; }
.tt.fills .main { flex: 1; height: auto; min-height: 0; }
.main > .view { flex: 1; min-width: 0; display: flex; flex-direction: column; min-height: 0; }
.panes { flex: 1; min-height: 0; display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); }
.pane { display: flex; flex-direction: column; min-height: 0; min-width: 0; } .pane + *, .pane + .pane { border-left: 1px solid var(--tt-line); }
.pane > header, .with-list header, .graph-view > header, .controls { display: flex; align-items: center; gap: 10px; min-height: 34px; padding: 3px 10px; border-bottom: 1px solid var(--tt-line); background: var(--tt-panel); min-width: 0; }
.pane select { border: 1px solid transparent; border-radius: 5px; background: transparent; font-weight: 600; padding: 1px 2px; min-height: 24px; max-width: 55%; }
.pane select:hover { border-color: var(--tt-line); } select option { background: var(--tt-bg); color: var(--tt-fg); font-weight: 400; }
.pane .doc, header .doc { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; font-size: 12px; min-width: 0; flex: 1; }

.listing { flex: 1; min-height: 0; overflow: auto; padding: 4px 0; ${CODE} scrollbar-width: thin; } .listing:focus-visible { outline: none; }
.listing, .diff { tab-size: 4; }
.rows { min-width: max-content; }
.row { display: flex; height: 20px; white-space: pre; cursor: default; padding-right: 16px; }
.row:hover { background: var(--tt-hover); }
.thread { flex: none; width: 3px; margin-right: 6px; background: var(--thread, transparent); opacity: .55; }
.gutter { flex: none; width: 3.2ch; text-align: right; color: var(--tt-quiet); opacity: .75; margin-right: 10px; user-select: none; font-size: 11px; }
.fate { flex: none; width: 14px; color: var(--tt-quiet); font-size: 9px; user-select: none; }
.row.hovered { background: var(--tt-hover); } .row.kin { background: var(--tt-kin); } .row.selected { background: var(--tt-select); }
.row.kin .thread, .row.hovered .thread, .row.selected .thread { opacity: 1; }
.tt:focus-within .listing.focused .row.cursor, .trace .row.cursor { box-shadow: inset 0 0 0 1px var(--tt-accent); }
.row.found .code { text-decoration: underline; text-decoration-color: var(--tt-warn); text-decoration-thickness: 2px; text-underline-offset: 3px; }
.code .exact { background: var(--tt-select); border-radius: 2px; } .code .near:not(.exact) { background: var(--tt-hover); }
.comment { color: var(--tt-comment); } .keyword { color: var(--tt-keyword); } .number { color: var(--tt-number); } .name { color: var(--tt-name); } .type { color: var(--tt-type); } .string { color: var(--tt-string); }

.with-list { flex: 1; min-height: 0; display: grid; grid-template-columns: 220px minmax(0, 1fr); }
.passes { overflow: auto; padding: 8px; border-right: 1px solid var(--tt-line); background: var(--tt-panel); }
.passes h4 { font-size: 11px; font-weight: 600; color: var(--tt-quiet); padding: 6px 6px 4px; }
.pass { display: flex; width: 100%; gap: 8px; align-items: baseline; padding: 3px 6px; min-height: 26px; border-radius: 5px; text-align: left; }
.pass:hover { background: var(--tt-hover); } .pass.current { background: var(--tt-select); } .pass.idle .pass-name { color: var(--tt-quiet); }
.pass .glyph { width: 10px; font-size: 9px; color: var(--tt-accent); } .pass.idle .glyph { color: var(--tt-quiet); } .pass .glyph.warn { color: var(--tt-warn); }
.pass .pass-name { flex: 1; overflow: hidden; text-overflow: ellipsis; } .pass .counts { font-size: 11px; color: var(--tt-quiet); white-space: nowrap; }
.diff-body { overflow: auto; min-width: 0; }
.diff-body > header { position: sticky; top: 0; left: 0; z-index: 1; }
.diff { ${CODE} padding: 4px 0 12px; }
.diff-row { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); } .diff.inline .diff-row { grid-template-columns: minmax(0, 1fr); }
.diff-row.head { font: 11px/22px var(--jp-ui-font-family, system-ui, sans-serif); color: var(--tt-quiet); } .diff-row.head span { padding-left: 26px; }
.diff-line { display: block; white-space: pre-wrap; overflow-wrap: anywhere; padding: 0 10px 0 26px; text-indent: -18px; min-height: 20px; }
.diff-row > :nth-child(2) { border-left: 1px solid var(--tt-line); }
.diff-row .void { background: var(--tt-panel); } .sign { display: inline-block; width: 18px; text-indent: 0; color: var(--tt-quiet); user-select: none; }
.gone > .diff-line, .diff-row.changed > :nth-child(1) { background: var(--tt-removed); } .new > .diff-line, .diff-row.changed > :nth-child(2) { background: var(--tt-added); }
.moved > .diff-line { background: var(--tt-changed); }
.diff-line.hovered { box-shadow: inset 0 0 0 1px var(--tt-line); } .diff-line.kin { box-shadow: inset 3px 0 0 var(--tt-accent); }
.skipped { color: var(--tt-quiet); font-size: 11px; padding: 2px 26px; background: var(--tt-panel); border-block: 1px solid var(--tt-line); margin: 4px 0; }
.miss { margin: 10px 14px; padding: 8px 12px; border-left: 3px solid var(--tt-warn); background: var(--tt-panel); border-radius: 0 6px 6px 0; }
.miss p { margin: 2px 0 4px; } .miss ol { padding-left: 20px; color: var(--tt-quiet); } .miss li::marker { font-size: 11px; }
.why { width: 300px; flex: none; overflow: auto; border-left: 1px solid var(--tt-line); } .why .facts { padding: 8px 14px; } .why ul { padding-left: 18px; }

.graph-view { flex: 1; min-height: 0; display: flex; flex-direction: column; }
.canvas { flex: 1; min-height: 0; overflow: auto; padding: 16px; } .canvas svg { display: block; margin: 0 auto; }
.canvas .graph > polygon { fill: transparent; stroke: none; }
.canvas text { fill: var(--tt-fg); font-family: var(--jp-code-font-family, ui-monospace, Menlo, Consolas, monospace); }
.canvas .node path, .canvas .node polygon, .canvas .node ellipse { fill: var(--tt-panel); stroke: var(--tt-line); }
.canvas .edge path { stroke: var(--tt-quiet); fill: none; } .canvas .edge polygon { fill: var(--tt-quiet); stroke: var(--tt-quiet); }
.canvas .node.linked { cursor: pointer; } .canvas .node.hovered path, .canvas .node.hovered polygon { fill: var(--tt-hover); stroke: var(--tt-quiet); }
.canvas .node.kin path, .canvas .node.kin polygon { fill: var(--tt-select); stroke: var(--tt-accent); }
.dot:is(pre) { ${CODE} white-space: pre-wrap; }
.twin { border-collapse: collapse; ${CODE} } .twin th { text-align: left; color: var(--tt-quiet); font-weight: 500; position: sticky; top: 0; background: var(--tt-bg); }
.twin td, .twin th { padding: 1px 16px 1px 0; border-bottom: 1px solid var(--tt-line); vertical-align: top; }

.trace { flex: 1; min-height: 0; display: flex; flex-direction: column; }
.controls select { border: 1px solid var(--tt-line); border-radius: 5px; background: var(--tt-bg); min-height: 26px; padding: 0 4px; }
.controls .slider { flex: 1; min-width: 100px; accent-color: var(--tt-accent); } .controls .place { color: var(--tt-quiet); white-space: nowrap; font-variant-numeric: tabular-nums; }
.controls .step { min-width: 26px; min-height: 24px; border: 1px solid var(--tt-line); border-radius: 5px; background: var(--tt-bg); font-size: 10px; color: var(--tt-quiet); } .controls .step:hover { color: var(--tt-accent); }
.timeline-box { padding: 6px 12px 4px; border-bottom: 1px solid var(--tt-line); } .timeline { display: block; width: 100%; cursor: pointer; color: var(--tt-fg); }
.legend { display: flex; gap: 14px; font-size: 11px; color: var(--tt-quiet); padding-top: 4px; } .legend i { display: inline-block; width: 8px; height: 8px; border-radius: 2px; margin-right: 5px; }
.step-detail { overflow: auto; padding: 10px 14px; display: flex; flex-direction: column; gap: 8px; min-width: 0; } .trace .panes { grid-template-columns: minmax(0, 1fr) minmax(0, 1.15fr); }
.step-detail h3 { ${CODE} font-size: 13.5px; font-weight: 600; overflow-wrap: anywhere; } .step-detail .doc { margin-top: -6px; }
.mask { display: flex; align-items: center; gap: 10px; font-size: 12px; } .mask-cells { display: flex; gap: 2px; } .mask-cells span { width: 7px; height: 14px; border-radius: 1.5px; background: var(--tt-accent); }
.mask-cells span:nth-child(8n):not(:last-child) { margin-right: 4px; } .mask-cells .off { background: transparent; box-shadow: inset 0 0 0 1px var(--tt-line); }
.access { ${CODE} font-size: 12px; padding: 4px 10px; background: var(--tt-panel); border-radius: 5px; }
.lanes figcaption { padding-bottom: 4px; } .lanes strong { ${CODE} font-weight: 600; color: var(--tt-name); }
.lane-grid { display: grid; gap: 3px; } .lane-row { display: grid; grid-template-columns: repeat(8, minmax(0, 1fr)); gap: 3px; }
.lane { ${CODE} font-size: 11.5px; line-height: 15px; position: relative; padding: 11px 5px 3px; border-radius: 4px; background: var(--tt-kin); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; text-align: right; font-variant-numeric: tabular-nums; }
.lane-row.same { grid-template-columns: minmax(0, 1fr); } .lane-row.same .lane { text-align: left; padding-top: 13px; font-size: 12.5px; }
.lane small { position: absolute; left: 5px; top: 0; font-size: 9px; color: var(--tt-quiet); }
.lane.off { background: repeating-linear-gradient(135deg, transparent 0 4px, var(--tt-hover) 4px 5px); color: var(--tt-quiet); box-shadow: inset 0 0 0 1px var(--tt-line); }
.findings { list-style: none; padding: 0; } .findings li { padding: 4px 10px; border-left: 3px solid var(--tt-line); } .findings .bad { border-color: var(--tt-bad); }

.thread-bar { display: flex; align-items: center; min-height: 32px; padding: 2px 12px; border-top: 1px solid var(--tt-line); background: var(--tt-panel); font-size: 12px; gap: 8px; }
.crumbs { display: flex; align-items: center; min-width: 0; white-space: pre; overflow-x: auto; scrollbar-width: none; }
.crumbs > * { flex: none; }
.crumb { ${CODE} font-size: 12px; border-radius: 4px; padding: 0 4px; min-height: 24px; } .crumb:hover { background: var(--tt-hover); color: var(--tt-accent); }
.crumb small { font: 10.5px var(--jp-ui-font-family, system-ui, sans-serif); color: var(--tt-quiet); } .pin { margin-left: 8px; padding: 0 6px; border-radius: 8px; background: var(--tt-select); }
.live { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.search { margin-left: auto; border: 1px solid var(--tt-line); border-radius: 5px; background: var(--tt-bg); padding: 1px 8px; min-height: 24px; width: 200px; }
.help { position: absolute; inset: 0; z-index: 3; overflow: auto; padding: 16px 22px; background: var(--tt-bg); columns: 2 280px; column-gap: 36px; }
.help div { display: flex; gap: 12px; padding: 2px 0; break-inside: avoid; } .help kbd { flex: none; min-width: 62px; text-align: center; }
@media (prefers-reduced-motion: no-preference) { .row, .stage, .pass, .segments button { transition: background-color .08s, color .08s; } }
.tt.narrow .panes { grid-template-columns: minmax(0, 1fr); grid-template-rows: minmax(0, 1fr) minmax(0, 1fr); } .tt.narrow .pane + .pane, .tt.narrow .pane + * { border-left: 0; border-top: 1px solid var(--tt-line); }
.tt.narrow .with-list { grid-template-columns: 140px minmax(0, 1fr); } .tt.narrow .main { height: 560px; } .tt.narrow .resources, .tt.narrow .chip ~ .chip { display: none; } .tt.narrow .segments button { padding: 2px 7px; }
`;

/** All rules of the viewer's shadow root. */
export function styleRules(): string {
  return tokenRules() + RULES;
}
