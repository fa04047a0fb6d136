// The left side: the Python source, and a card for each task.

class Source {
  /** `events` are {point(line), hold(line)}; a line is a key "file:line". */
  constructor(frame, events) {
    Object.assign(this, { frame, events, rows: new Map(), keys: [], cursor: -1 });
    frame.addEventListener("mousemove", (event) => events.point(this.#at(event)));
    frame.addEventListener("mouseleave", () => events.point(null));
    frame.addEventListener("click", (event) => {
      const key = this.#at(event);
      if (key) events.hold(key);
    });
    frame.addEventListener("keydown", (event) => this.#key(event));
  }

  show(kernel) {
    this.rows.clear();
    this.frame.replaceChildren();
    for (const [file, first, lines] of kernel.source) {
      const name = make("div", "file", `${kernel.files[file].split(/[\\/]/).pop()}, line ${first}`);
      name.title = kernel.files[file];
      this.frame.append(name);
      lines.forEach((text, k) => this.#row(`${file}:${first + k}`, first + k, text));
    }
    this.#share(kernel.samples);
    this.keys = [...this.rows.keys()];
  }

  #row(key, number, text) {
    const row = make("div", "row");
    row.dataset.key = key;
    row.append(make("i", "", number));
    const words = make("span");
    paint(words, text, PYTHON);
    const count = make("u");
    row.append(words, make("s"), count);
    this.frame.append(row);
    this.rows.set(key, row);
  }

  /** Say beside each line which share of the samples of its task it has. */
  #share(samples) {
    for (const [key, shares] of Object.entries(samples)) {
      const row = this.rows.get(key), cell = row && row.querySelector("s");
      if (!cell) continue;
      const percent = 100 * shares[0][0];
      cell.textContent = `${percent < 1 ? "<1" : Math.round(percent)} %`;
      cell.title = shares.map(([, what]) => what).join("\n");
      cell.style.setProperty("--share", `${percent}%`);
    }
  }

  /** Light the lines of a map key -> class. */
  light(lit) {
    const here = this.keys[this.cursor];
    for (const [key, row] of this.rows) row.className = `row ${lit.get(key) || ""}${key === here ? " cursor" : ""}`;
  }

  /** Say beside each line how many lines of the level it became. */
  count(counts) {
    for (const [key, row] of this.rows) row.lastChild.textContent = counts.get(key) || "";
  }

  reveal(key) {
    const row = this.rows.get(key);
    if (row) row.scrollIntoView({ block: "nearest" });
  }

  #at(event) {
    const row = event.target.closest(".row");
    return row ? row.dataset.key : null;
  }

  #key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Enter" && this.cursor >= 0) this.events.hold(this.keys[this.cursor]);
    if (!step) return;
    event.preventDefault();
    this.cursor = Math.min(this.keys.length - 1, Math.max(0, this.cursor + step));
    this.reveal(this.keys[this.cursor]);
    this.events.point(this.keys[this.cursor]);
  }
}

/** The cards of the tasks of a kernel. Where those of the kernel beside it say something else, that too. `place(spot)`
 * gives a line's number; `point(spot)` lights it. */
function showFacts(frame, kernel, beside, place, point) {
  const cards = kernel.facts;
  frame.replaceChildren(...cards.map((card, number) => {
    const other = beside && beside.facts[number] ? factsOf(beside.facts[number]) : null;
    const made = make("div", "card"), heading = make("h2", "", `task ${card.title}`);
    if (card.spot) heading.append(make("span", "", `  line ${place(card.spot)}`));
    heading.addEventListener("mouseenter", () => point(card.spot));
    heading.addEventListener("mouseleave", () => point(0));
    const list = make("dl");
    for (const [name, what] of factsOf(card)) {
      const term = make("dt", "", name), told = make("dd", "", what);
      term.title = LEGEND[name] || "";
      if (other && other.get(name) !== what) told.append(make("em", "than", `beside: ${other.get(name) || "-"}`));
      list.append(term, told);
    }
    for (const [name, what] of other || []) {
      if (factsOf(card).has(name)) continue;
      const told = make("dd", "", "-");
      told.append(make("em", "than", `beside: ${what}`));
      list.append(make("dt", "", name), told);
    }
    made.append(heading, list);
    for (const [spot, text, hint] of card.notes) {
      const where = spot ? `line ${place(spot)}: ` : "";
      const note = make("p", text.startsWith("vectorized") ? "good" : "", where + text);
      if (hint) note.append(make("em", "", hint));
      note.addEventListener("mouseenter", () => point(spot));
      note.addEventListener("mouseleave", () => point(0));
      made.append(note);
    }
    return made;
  }), legendOf(cards));
}

/** The rows of a card: name -> value. Rows of one name are joined. */
function factsOf(card) {
  const rows = new Map();
  for (const [name, what] of card.rows) rows.set(name, rows.has(name) ? `${rows.get(name)}; ${what}` : what);
  return rows;
}
