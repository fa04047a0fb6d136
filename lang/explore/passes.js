// The walk through the passes: a list with times, a slider, and the difference that each pass made.

const AROUND = 3; // lines shown around a change

class Passes {
  /** `expand(text)` gives the line numbers of a text; `chosen()` is called when another pass is to be shown. */
  constructor(expand, chosen) {
    Object.assign(this, { expand, chosen, place: 0, open: new Set(), visible: [] });
    this.slider = document.getElementById("slider");
    this.idle = document.getElementById("idle");
    this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
    this.idle.addEventListener("change", () => this.#choose(this.visible[this.place]));
    document.getElementById("back").addEventListener("click", () => this.go(this.place - 1));
    document.getElementById("on").addEventListener("click", () => this.go(this.place + 1));
  }

  show(kernel) {
    this.kernel = kernel;
    this.texts = [];
    kernel.passes.forEach((one, k) => this.texts.push(one.text === null ? this.texts[k - 1] : one.text));
    this.#share();
    this.#choose(0);
  }

  /** The rows of the pass that is chosen, as a diff with what was before. */
  rows() {
    const at = this.visible[this.place];
    const after = this.expand(this.texts[at]), before = at ? this.expand(this.texts[at - 1]) : [];
    const diff = at ? diffLines(before, after) : after.map((line) => [" ", line]);
    this.#heading(at, diff);
    const folded = at && diff.some(([sign]) => sign !== " ") ? foldDiff(diff, AROUND) : diff;
    return folded.flatMap((row, k) => (row[0] === "..." && this.open.has(k) ? row[1] : [[...row, k]]));
  }

  unfold(fold) {
    this.open.add(fold);
    this.chosen(true);
  }

  go(place) {
    this.place = Math.min(this.visible.length - 1, Math.max(0, place));
    this.open.clear();
    this.slider.value = this.place;
    for (const item of document.querySelectorAll("#list li")) {
      const on = Number(item.dataset.place) === this.place;
      item.classList.toggle("chosen", on);
      if (on) item.scrollIntoView({ block: "nearest" });
    }
    this.chosen(false);
  }

  #choose(pass) {
    const { passes } = this.kernel;
    this.visible = passes.map((_, k) => k).filter((k) => this.idle.checked || passes[k].changed || k === 0);
    if (!this.idle.checked) this.visible = this.visible.filter((k) => !this.#repeats(k));
    this.slider.max = this.visible.length - 1;
    this.#list();
    this.go(Math.max(0, this.visible.findIndex((k) => k >= pass)));
  }

  /** A stage whose nested passes were shown one by one has nothing new. */
  #repeats(k) {
    return k > 0 && !this.kernel.passes[k].nested && this.texts[k] === this.texts[k - 1];
  }

  #heading(at, diff) {
    const one = this.kernel.passes[at], heading = document.getElementById("heading");
    const count = (sign) => diff.filter((row) => row[0] === sign).length;
    const where = `  ${this.place + 1} of ${this.visible.length}, ${one.ms.toFixed(2)} ms  `;
    heading.replaceChildren(make("strong", "", one.name), where);
    if (at) heading.append(make("span", "plus", `+${count("+")} `), make("span", "minus", `\u2212${count("-")}`));
  }

  #list() {
    const most = Math.max(...this.kernel.passes.map((one) => one.ms), 1e-9);
    document.getElementById("list").replaceChildren(...this.visible.map((k, place) => {
      const one = this.kernel.passes[k];
      const item = make("li", `${one.nested ? "nested " : ""}${one.changed ? "changed" : ""}`, one.name);
      item.append(make("span", "", `${one.ms.toFixed(2)} ms`));
      item.style.setProperty("--part", one.ms / most);
      item.dataset.place = place;
      item.addEventListener("click", () => this.go(place));
      return item;
    }));
  }

  /** Where the time of the whole compilation went. */
  #share() {
    const { times, passes } = this.kernel;
    const ours = passes.filter((one) => !one.nested).reduce((sum, one) => sum + one.ms, 0);
    const parts = [...times.slice(0, 1), ["passes", ours], ...times.slice(1)];
    document.getElementById("share").replaceChildren(...parts.map(([name, ms]) => {
      const part = make("span", name === "passes" ? "ours" : "", `${name} ${ms.toFixed(1)} ms`);
      part.style.flex = `${ms} 1 0`;
      part.title = `${name}: ${ms.toFixed(2)} ms`;
      return part;
    }));
  }
}
