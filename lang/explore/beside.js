// Two kernels side by side: another one, or the same one compiled in another way, in a second pane. It shows the level
// that the first pane shows. A source line lights its code in both. Levels of Weft's IR are compared line by line.

const COMPARED = ["tree", "chi", "tasks", "lowered"];
const MACHINE = ["asm", "ptx", "sass"]; // where one arch has no such level, another of these stands for it
const MOST = 40000; // lines that are compared

class Beside {
  /** `events` are {current(), changed(), point(chain), hold(chain), explain(row, kernel, level)}: the kernel in the first
   * pane, what to do when another kernel is chosen, and when a row of it is pointed at. A chain is a text of places. */
  constructor(kernels, events) {
    Object.assign(this, { kernels, events, kernel: null, level: "", chains: new Set(), held: false });
    // The browser may draw the hidden pane once more after its kernel was taken away.
    const chainOf = (row) => (row && row.spot && this.kernel ? chainText(this.kernel, row.spot) : "");
    this.text = new LongText(byId("text2"), byId("map2"), {
      point: (row) => events.point(chainOf(row), row ? this.#explain(row) : ""),
      hold: (row) => events.hold(chainOf(row)),
      unfold: () => undefined,
      explain: (row) => this.#explain(row),
      found: () => false,
      lit: (row) => (row.spot && this.chains.has(chainOf(row)) ? (this.held ? "held" : "lit") : ""),
    });
    const select = byId("beside"), option = (text, value) => Object.assign(make("option", "", text), { value });
    select.append(option("nothing beside it", ""), ...kernels.map((one, k) => option(`beside: ${one.name}`, String(k))));
    select.hidden = kernels.length < 2;
    select.addEventListener("change", () => this.choose(select.value));
  }

  choose(value) {
    this.kernel = value === "" || value === null ? null : this.kernels[Number(value)] || null;
    byId("beside").value = this.kernel ? String(this.kernels.indexOf(this.kernel)) : "";
    this.events.changed();
  }

  /** Show that level of the other kernel. Returns the signs of the rows of the first pane: "-" where a line is only
   * there, if the texts are compared. */
  show(level, rows) {
    const shown = this.kernel && level !== "passes";
    byId("other").hidden = byId("one").hidden = !shown;
    if (!shown) return [];
    this.level = this.#level(level);
    const found = this.kernel.levels.find((one) => one.name === this.level);
    const numbers = found ? expand(found.text) : [];
    const [left, right] = this.#signs(level, rows, numbers);
    const made = numbers.map((line, k) => ({ number: k + 1, sign: right[k] || "", text: this.kernel.lines[line][0],
                                             spot: this.kernel.lines[line][1] }));
    this.text.show(made, right.length > 0, found ? found.missing || "Nothing is here." : "This arch has no such level.");
    this.#title("one", this.events.current(), level, rows.length);
    this.#title("two", this.kernel, this.level, made.length);
    return left;
  }

  /** Light the rows of those chains of places. */
  light(chains, held) {
    Object.assign(this, { chains, held });
    if (this.kernel) this.text.draw();
  }

  reveal() {
    const place = this.text.rows.findIndex((row) => row.spot && this.chains.has(chainText(this.kernel, row.spot)));
    if (place >= 0) this.text.reveal(place);
  }

  #level(level) {
    const names = this.kernel.levels.map((one) => one.name);
    return names.includes(level) || !MACHINE.includes(level) ? level : MACHINE.find((one) => names.includes(one)) || level;
  }

  #signs(level, rows, numbers) {
    if (!COMPARED.includes(level) || rows.length + numbers.length > MOST) return [[], []];
    const known = new Map();
    const number = (line) => {
      const text = line.replace(/%\d+/g, "%"); // values without names have other numbers there
      return known.get(text) ?? known.set(text, known.size).get(text);
    };
    const left = rows.map((row) => number(row.text));
    const right = numbers.map((line) => number(this.kernel.lines[line][0]));
    const signs = diffLines(left, right).map(([sign]) => sign);
    return [signs.filter((sign) => sign !== "+"), signs.filter((sign) => sign !== "-")];
  }

  #title(id, kernel, level, count) {
    const title = kernel.levels.find((one) => one.name === level)?.title || level;
    byId(id).replaceChildren(make("strong", "", kernel.name), `  ${kernel.arch}, ${title}, ${count} lines`);
  }

  #explain(row) {
    return this.kernel ? this.events.explain(row, this.kernel, this.level) : "";
  }
}

/** The places of a spot, innermost first, with the paths of their files: the same text in every kernel. */
function chainText(kernel, spot) {
  return kernel.spots[spot].map(([file, line]) => `${kernel.files[file]}:${line}`).join(" < ");
}

/** The spot of a kernel with those places; 0 if it has none. */
function spotOf(kernel, chain) {
  return chain ? Math.max(0, kernel.spots.findIndex((_, spot) => spot > 0 && chainText(kernel, spot) === chain)) : 0;
}
