// The viewer core as one module, for offline pages and for the Inspector's loader.
export { mount } from "@tinyton-lab/shared";
