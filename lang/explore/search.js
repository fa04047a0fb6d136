// Search in the text that is shown: rows that have the words are marked.

class Search {
  /** `rows()` gives the rows of the text, `go(place)` shows one, `draw()` draws them anew. */
  constructor(field, said, events) {
    Object.assign(this, { field, said, events, wanted: "", places: [] });
    field.addEventListener("input", () => this.find(field.value));
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.next(event.shiftKey ? -1 : 1);
      if (event.key === "Escape") this.end();
    });
  }

  /** Mark the rows with these letters, small or capital. */
  find(wanted) {
    this.wanted = wanted.trim().toLowerCase();
    this.field.value = wanted;
    this.update();
    if (this.places.length) this.#show(0);
    this.events.draw();
  }

  /** The text has changed: look again. */
  update() {
    const has = (row) => row.sign !== "..." && row.text.toLowerCase().includes(this.wanted);
    this.places = this.wanted ? this.events.rows().flatMap((row, k) => (has(row) ? [k] : [])) : [];
    this.found = new Set(this.places);
    this.at = -1;
    this.said.textContent = this.wanted ? `${this.places.length} found` : "";
  }

  has(place) {
    return this.places.length > 0 && this.found.has(place);
  }

  next(step) {
    const count = this.places.length;
    if (count) this.#show((this.at + step + count) % count);
  }

  end() {
    this.find("");
    this.field.blur();
  }

  #show(at) {
    this.at = at;
    this.said.textContent = `${at + 1} of ${this.places.length}`;
    this.events.go(this.places[at]);
  }
}
