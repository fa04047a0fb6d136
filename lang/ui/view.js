// A picture with controls. Python computes a frame for each message {next: true} and answers with its bytes. So frames
// come no faster than the page shows them, and none is computed if no page is open.

function initialize(model, state) {
  let waiting = false; // whether Python computes a frame
  let last = null;
  state.ask = () => {
    if (!waiting) {
      waiting = true;
      model.send({ next: true });
    }
  };
  state.redraw = () => last && state.views.forEach((view) => view.draw(last));
  const go = () => model.get("playing") && state.views.size && requestAnimationFrame(state.ask);
  state.go = go;
  model.on("change:playing", go);
  model.on("msg:custom", async (message, buffers) => {
    waiting = false;
    if (message.frame !== undefined) {
      last = await createImageBitmap(new Blob([buffers[0]]));
      state.number = message.frame;
      const now = performance.now();
      state.shown += 1;
      if (now - state.since > 500) {
        state.rate = (1000 * state.shown) / (now - state.since);
        state.shown = 0;
        state.since = now;
      }
      state.redraw();
    }
    state.views.forEach((view) => view.say(message.error || ""));
    go();
  });
}

function slider(model, row, told) {
  const label = document.createElement("label");
  const input = document.createElement("input");
  const number = document.createElement("output");
  const show = () => {
    const value = model.get("values")[row.name];
    if (row.kind === "bool") input.checked = value;
    else input.value = value;
    number.textContent = row.kind === "bool" ? "" : row.kind === "int" ? value : Number(value).toPrecision(3);
  };
  if (row.kind === "bool") input.type = "checkbox";
  else Object.assign(input, { type: "range", min: row.low, max: row.high, step: row.kind === "int" ? 1 : (row.high - row.low) / 500 });
  input.addEventListener("input", () => {
    const value = row.kind === "bool" ? input.checked : Number(input.value);
    model.set("values", { ...model.get("values"), [row.name]: value });
    model.save_changes();
    told();
  });
  model.on("change:values", show);
  show();
  const name = document.createElement("span");
  name.textContent = row.name;
  label.append(name, input, number);
  return label;
}

function render(model, el, state) {
  el.classList.add("weft-view");
  el.addEventListener("keydown", (event) => event.stopPropagation()); // the notebook has shortcuts of its own
  const canvas = document.createElement("canvas");
  const bar = document.createElement("div");
  const facts = document.createElement("span");
  const error = document.createElement("pre");
  const button = (act) => {
    const made = document.createElement("button");
    made.addEventListener("click", act);
    bar.append(made);
    return made;
  };
  const play = button(() => {
    model.set("playing", !model.get("playing"));
    model.save_changes();
  });
  const step = button(state.ask);
  step.textContent = "Step";
  bar.append(facts);
  const panel = document.createElement("div");
  const told = () => model.get("playing") || state.ask();
  model.get("sliders").forEach((row) => panel.append(slider(model, row, told)));
  const show = () => {
    play.textContent = model.get("playing") ? "Pause" : "Play";
    step.disabled = model.get("playing");
  };
  model.on("change:playing", show);
  show();
  el.append(canvas, bar, panel, error);
  const view = {
    draw(image) {
      if (canvas.width !== image.width || canvas.height !== image.height) {
        canvas.width = image.width;
        canvas.height = image.height;
      }
      canvas.getContext("2d").drawImage(image, 0, 0);
      facts.textContent = `frame ${state.number}` + (state.rate ? `, ${state.rate.toFixed(0)} per second` : "");
    },
    say(text) {
      error.textContent = text;
    },
  };
  state.views.add(view);
  if (state.number === undefined) state.ask();
  else state.redraw();
  state.go();
  return () => {
    state.views.delete(view);
    model.off("change:playing", show);
  };
}

// Called once for each widget; a widget may be shown in several places.
export default () => {
  const state = { views: new Set(), shown: 0, since: performance.now(), rate: 0 };
  return {
    initialize: ({ model }) => initialize(model, state),
    render: ({ model, el }) => render(model, el, state),
  };
};
