// Starts the viewer on an offline page: the record lies in the page's one JSON script, the static card in `main`.
import { mount } from "@tinyton-lab/shared";

const host = document.querySelector("main");
const data = document.querySelector("script[type='application/json']");
if (host && data) {
  const record = JSON.parse(data.textContent ?? "");
  host.replaceChildren();
  mount(host, record);
}
