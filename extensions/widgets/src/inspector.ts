// The Inspector's anywidget module. It is small on purpose: it travels with every widget, the viewer core only once a page.
import type { mount as Mount, RecordJson, Viewer } from "@tinyton-lab/shared";

interface Model {
  get(name: "record"): RecordJson;
  get(name: "selected"): number[];
  get(name: "height"): number;
  set(name: "selected", value: number[]): void;
  save_changes(): void;
  send(message: unknown): void;
  on(event: string, listener: (message: unknown) => void): void;
  off(event: string, listener: (message: unknown) => void): void;
}

interface Core {
  mount: typeof Mount;
}

const KEY = "tinyton_lab viewer";
const page = globalThis as unknown as Record<string, Promise<Core> | undefined>;

/** The viewer core of this page: what the JupyterLab extension left there, else what Python sends when asked. */
function core(model: Model): Promise<Core> {
  return (page[KEY] ??= new Promise<Core>((resolve, reject) => {
    const answer = (message: unknown): void => {
      const text = (message as { viewer?: string }).viewer;
      if (typeof text !== "string") return;
      model.off("msg:custom", answer);
      const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
      (import(/* webpackIgnore: true */ address) as Promise<Core>).then(resolve, reject).finally(() => URL.revokeObjectURL(address));
    };
    model.on("msg:custom", answer);
    model.send({ want: "viewer" });
  }));
}

async function render({ model, el }: { model: Model; el: HTMLElement }): Promise<() => void> {
  const { mount } = await core(model);
  let viewer: Viewer | undefined;
  const show = (): void => {
    viewer?.dispose();
    el.style.setProperty("--tt-height", `${model.get("height")}px`);
    viewer = mount(el, model.get("record"), {
      onSelect: uids => {
        model.set("selected", uids);
        model.save_changes();
      },
    });
  };
  const select = (): void => {
    const uids = model.get("selected");
    if (viewer && uids.join() !== viewer.state.selected.join()) viewer.select(uids);
  };
  model.on("change:record", show);
  model.on("change:selected", select);
  show();
  select();
  return () => {
    model.off("change:record", show);
    model.off("change:selected", select);
    viewer?.dispose();
  };
}

export default { render };
