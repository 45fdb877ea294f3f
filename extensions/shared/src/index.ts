// What hosts use of the viewer core.
export { Model } from "./model.js";
export { MIME, SCHEMA, type RecordJson } from "./record.gen.js";
export type { View } from "./state.js";
export { mount, type Options, type Viewer } from "./viewer.js";
