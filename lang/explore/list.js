// A long text of which only the lines in sight are in the document.

const ROW = 19;
const BEYOND = 12; // rows above and below those in sight

class LongText {
  /** `events` are {point(row), hold(row), unfold(row), lit(row), explain(row), found(place)}: what a row does, how it
   * is lit ("" or a class), what its instruction does, whether the search has found it. */
  constructor(frame, map, events) {
    Object.assign(this, { frame, map, events, rows: [], cursor: -1, signs: false });
    this.sheet = make("div", "sheet code");
    this.inner = make("div", "rows");
    this.sheet.append(this.inner);
    frame.addEventListener("scroll", () => this.#drawRows());
    frame.addEventListener("mousemove", (event) => this.#over(event));
    frame.addEventListener("mouseleave", () => events.point(null));
    frame.addEventListener("click", (event) => this.#click(event));
    frame.addEventListener("keydown", (event) => this.#key(event));
    map.addEventListener("click", (event) => this.#jump(event.offsetY / map.clientHeight));
    new ResizeObserver(() => this.draw()).observe(frame);
  }

  /** Show rows {number, sign, text, spot}; `empty` is said where there are none. */
  show(rows, signs, empty, keep) {
    this.rows = rows;
    this.signs = signs;
    this.cursor = -1;
    const widest = rows.reduce((most, row) => Math.max(most, row.text.length), 0);
    this.sheet.style.height = `${rows.length * ROW + 24}px`;
    this.sheet.style.minWidth = `max(100%, calc(${Math.min(widest, 2000)}ch + 80px))`;
    this.frame.replaceChildren(rows.length ? this.sheet : make("div", "empty", empty));
    if (!keep) this.frame.scrollTo(0, 0);
    this.draw();
  }

  draw() {
    this.#drawRows();
    this.#drawMap();
  }

  #drawRows() {
    const first = Math.max(0, Math.floor(this.frame.scrollTop / ROW) - BEYOND);
    const count = Math.ceil(this.frame.clientHeight / ROW) + 2 * BEYOND;
    const made = this.rows.slice(first, first + count).map((row, k) => this.#row(row, first + k));
    this.inner.style.transform = `translateY(${first * ROW}px)`;
    this.inner.replaceChildren(...made);
  }

  /** Scroll so that a row is in the middle, unless it is in sight. */
  reveal(place) {
    const top = place * ROW, seen = this.frame.scrollTop;
    if (top < seen || top + ROW > seen + this.frame.clientHeight) {
      this.frame.scrollTop = top - this.frame.clientHeight / 2;
    }
  }

  #row(row, place) {
    const kind = { "+": " plus", "-": " minus", "...": " fold" }[row.sign] || "";
    const lit = this.events.lit(row);
    const found = this.events.found(place) ? " found" : "";
    const made = make("div", `row${kind}${lit ? ` ${lit}` : ""}${found}${place === this.cursor ? " cursor" : ""}`);
    made.dataset.place = place;
    made.append(make("i", "", row.number || ""));
    if (this.signs) made.append(make("b", "", row.sign === "..." ? "" : row.sign));
    const text = make("span");
    text.title = this.events.explain(row);
    if (row.sign === "...") text.textContent = row.text;
    else paint(text, row.text, CODE);
    made.append(text);
    return made;
  }

  #drawMap() {
    const { map } = this, scale = window.devicePixelRatio || 1;
    map.width = map.clientWidth * scale;
    map.height = map.clientHeight * scale;
    const pen = map.getContext("2d"), colors = getComputedStyle(document.documentElement);
    const tall = Math.max(2 * scale, map.height / Math.max(1, this.rows.length));
    const paints = { plus: colors.getPropertyValue("--plus-ink"), minus: colors.getPropertyValue("--minus-ink") };
    const mark = colors.getPropertyValue("--mark"), accent = colors.getPropertyValue("--accent");
    this.rows.forEach((row, k) => {
      const lit = this.events.lit(row), change = row.sign === "+" ? "plus" : row.sign === "-" ? "minus" : "";
      if (!lit && !change && !this.events.found(k)) return;
      pen.fillStyle = lit ? mark : paints[change] || accent;
      pen.fillRect(0, (k / this.rows.length) * map.height, map.width, tall);
    });
  }

  #at(event) {
    const found = event.target.closest(".row");
    return found && this.inner.contains(found) ? Number(found.dataset.place) : -1;
  }

  #over(event) {
    const place = this.#at(event);
    this.events.point(place < 0 ? null : this.rows[place]);
  }

  #click(event) {
    this.#choose(this.#at(event));
  }

  #choose(place) {
    if (place < 0) return;
    const row = this.rows[place];
    this.cursor = place;
    if (row.sign === "...") this.events.unfold(row);
    else this.events.hold(row);
  }

  #key(event) {
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 30, PageUp: -30 };
    if (event.key === "Enter") this.#choose(this.cursor);
    if (!(event.key in steps) || !this.rows.length) return;
    event.preventDefault();
    this.cursor = Math.min(this.rows.length - 1, Math.max(0, this.cursor + steps[event.key]));
    this.reveal(this.cursor);
    this.events.point(this.rows[this.cursor]);
    this.draw();
  }

  #jump(part) {
    this.frame.scrollTop = part * this.rows.length * ROW - this.frame.clientHeight / 2;
  }
}
