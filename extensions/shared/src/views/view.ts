// What every view is: an element and a way to follow the state.
import type { Model } from "../model.js";
import type { State } from "../state.js";

export interface Context {
  model: Model;
  /** Change the state; the views are told. */
  set: (change: (model: Model, state: State) => State) => void;
  /** Light up ops while the pointer is over them. */
  hover: (uids: readonly number[]) => void;
}

export interface Lit {
  selected: ReadonlySet<number>;
  kin: ReadonlySet<number>;
  hovered: ReadonlySet<number>;
}

export interface ViewPart {
  element: HTMLElement;
  update: (state: State, lit: Lit) => void;
}
