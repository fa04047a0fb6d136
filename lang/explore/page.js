// What belongs together: a kernel is chosen, a level or pass is shown, a line is pointed at or held and lit.

const byId = (id) => document.getElementById(id);
const kernels = JSON.parse(byId("data").textContent);
const state = { kernel: kernels[0], tab: "", pointed: null, held: null };

/** Spots to light: {keys: source lines, spots: numbers, line: the line that was asked for}. */
function fromLine(key) {
  const spots = new Set();
  state.kernel.spots.forEach((chain, spot) => {
    if (chain.some((place) => place.join(":") === key)) spots.add(spot);
  });
  return { spots, lines: new Map([[key, "lit"]]) };
}

function fromSpot(spot) {
  const lines = new Map();
  state.kernel.spots[spot].forEach((place, k) => lines.set(place.join(":"), k ? "near" : "lit"));
  return { spots: new Set([spot]), lines };
}

function fromChain(chain) {
  const spot = spotOf(state.kernel, chain);
  return spot ? fromSpot(spot) : null;
}

/** The chains of places that are lit: for the other pane. */
function litChains() {
  const what = state.pointed || state.held, { kernel } = state;
  const chains = new Set(what ? [...what.spots].map((spot) => chainText(kernel, spot)) : []);
  if (what && what.lines.size === 1 && beside.kernel) {
    const [file, line] = [...what.lines.keys()][0].split(":").map(Number);
    const wanted = `${kernel.files[file]}:${line}`;
    beside.kernel.spots.forEach((_, spot) => {
      const chain = chainText(beside.kernel, spot);
      if (chain.split(" < ").includes(wanted)) chains.add(chain);
    });
  }
  return chains;
}

const lineOf = (spot) => state.kernel.spots[spot][0][1];

const events = {
  point(row) {
    state.instruction = row ? events.explain(row) : "";
    point(row && row.spot ? fromSpot(row.spot) : null);
    tell();
  },
  explain: (row) => explainRow(row, state.kernel, state.tab),
  found: (place) => search.has(place),
  hold: (row) => hold(row.spot ? fromSpot(row.spot) : null, "text"),
  unfold: (row) => passes.unfold(row.fold),
  lit(row) {
    const { held, pointed } = state;
    if (!row.spot) return "";
    if (held && held.spots.has(row.spot)) return "held";
    return pointed && pointed.spots.has(row.spot) ? "lit" : "";
  },
};
const text = new LongText(byId("text"), byId("map"), events);
const source = new Source(byId("source"), {
  point: (key) => point(key && fromLine(key)),
  hold: (key) => hold(fromLine(key), "source"),
});
const search = new Search(byId("search"), byId("found"), {
  rows: () => text.rows,
  go(place) {
    text.cursor = place;
    text.reveal(place);
    text.draw();
  },
  draw: () => text.draw(),
});
const beside = new Beside(kernels, {
  current: () => state.kernel,
  changed() {
    drawFacts();
    showTab(state.tab);
  },
  point(chain, said) {
    state.instruction = said;
    point(fromChain(chain));
    tell();
  },
  hold: (chain) => hold(fromChain(chain), "text"),
  explain: (row, kernel, level) => explainRow(row, kernel, level),
});
const passes = new Passes(expand, (keep) => showPass(keep));

/** The line numbers of a text, from its runs. */
function expand(runs) {
  const numbers = [];
  for (let k = 0; k < runs.length; k += 2) {
    for (let line = 0; line < runs[k + 1]; line += 1) numbers.push(runs[k] + line);
  }
  return numbers;
}

/** Whether two such things are lit alike. */
function same(a, b) {
  return a === b || Boolean(a && b && [...a.spots].join() === [...b.spots].join() &&
    [...a.lines.keys()].join() === [...b.lines.keys()].join());
}

function point(what) {
  if (same(what, state.pointed)) return;
  state.pointed = what;
  light();
}

/** Keep a line lit; from the source, go to what it became, and back. */
function hold(what, from) {
  state.held = what;
  light();
  if (!what) return;
  if (from === "source") nextLit(-1);
  else source.reveal([...what.lines.keys()][0]);
  beside.reveal();
}

/** Scroll to the next row of what is lit, behind the row `after`. */
function nextLit(after) {
  const rows = text.rows.map((row, k) => [events.lit(row), k]).filter(([lit]) => lit).map(([, k]) => k);
  const place = rows.find((k) => k > after) ?? rows[0];
  if (place === undefined) return;
  text.cursor = place;
  text.reveal(place);
  text.draw();
}

function light() {
  const lines = new Map(state.pointed ? state.pointed.lines : []);
  for (const key of state.held ? state.held.lines.keys() : []) lines.set(key, "held");
  source.light(lines);
  text.draw();
  beside.light(litChains(), !state.pointed && Boolean(state.held));
  tell();
}

/** Say at the top what is lit, and what the instruction does that is pointed at. */
function tell() {
  const shown = state.pointed || state.held;
  const count = shown ? text.rows.filter((row) => shown.spots.has(row.spot)).length : 0;
  const parts = [shown && shown.lines.size ? describe(shown, count) : "", state.instruction || ""];
  byId("where").textContent = parts.filter(Boolean).join(" | ");
}

function describe(shown, count) {
  const numbers = [...shown.lines.keys()].map((key) => key.split(":")[1]);
  return `line ${numbers.join(", called from line ")}: ${count} ${count === 1 ? "line" : "lines"} here`;
}

// ---- levels and passes

const rowOf = (number, sign, line, place, fold) =>
  ({ number: place, sign, text: sign === "..." ? `${line.length} lines that stay` : state.kernel.lines[line][0],
     spot: sign === "..." ? 0 : state.kernel.lines[line][1], fold });

function showTab(name) {
  state.tab = name;
  for (const tab of byId("tabs").children) tab.setAttribute("aria-selected", String(tab.dataset.name === name));
  byId("passes").hidden = byId("list").hidden = name !== "passes";
  if (name === "passes") {
    beside.show(name, []);
    showPass(false);
    return;
  }
  const level = state.kernel.levels.find((one) => one.name === name);
  const rows = expand(level.text).map((line, k) => rowOf(line, "", line, k + 1));
  beside.show(name, rows).forEach((sign, k) => {
    rows[k].sign = sign;
  });
  text.show(rows, rows.some((row) => row.sign), level.missing || "Nothing is here.", false);
  countLines();
  if (state.held) nextLit(-1);
}

function showPass(keep) {
  if (state.tab !== "passes") return;
  let place = 0;
  const rows = passes.rows().map(([sign, line, fold]) => {
    if (sign === "...") place += line.length;
    else if (sign !== "-") place += 1;
    return rowOf(line, sign, line, sign === "-" || sign === "..." ? "" : place, fold);
  });
  text.show(rows, true, "Nothing is here.", keep);
  countLines();
}

/** Beside each line of the source: how many lines it became. */
function countLines() {
  search.update();
  const bySpot = new Map(), counts = new Map();
  const gone = state.tab === "passes" ? "-" : null; // what a pass removed; beside another kernel, "-" is only here
  for (const row of text.rows) if (row.spot && row.sign !== gone) bySpot.set(row.spot, (bySpot.get(row.spot) || 0) + 1);
  for (const [spot, count] of bySpot) {
    for (const place of state.kernel.spots[spot]) {
      const key = place.join(":");
      counts.set(key, (counts.get(key) || 0) + count);
    }
  }
  source.count(counts);
  light();
}

function showKernel(number, tab) {
  Object.assign(state, { kernel: kernels[number], pointed: null, held: null, tab: "", instruction: "" });
  byId("kernels").value = String(number);
  byId("arch").textContent = [state.kernel.arch, state.kernel.variant].filter(Boolean).join(", ");
  const titles = [...state.kernel.levels.map((one) => [one.name, one.title]), ["passes", "Passes"]];
  byId("tabs").replaceChildren(...titles.map(([name, title], k) => {
    const made = make("button", "", title);
    made.append(make("small", "", name === "passes" ? "p" : k + 1));
    made.setAttribute("role", "tab");
    made.dataset.name = name;
    made.addEventListener("click", () => showTab(name));
    return made;
  }));
  source.show(state.kernel);
  drawFacts();
  passes.show(state.kernel);
  showTab(titles.some(([name]) => name === tab) ? tab : titles[0][0]);
}

function drawFacts() {
  const other = beside.kernel && beside.kernel !== state.kernel ? beside.kernel : null;
  showFacts(byId("facts"), state.kernel, other, lineOf, (spot) => point(spot ? fromSpot(spot) : null));
}

// ---- keys, theme, start

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  text.draw();
}

const turnTheme = () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");

function turnHelp() {
  byId("help").hidden = !byId("help").hidden;
  byId("keys").setAttribute("aria-expanded", String(!byId("help").hidden));
}

const KEYS = {
  t: turnTheme,
  "?": turnHelp,
  "/": () => byId("search").focus(),
  n: () => nextLit(text.cursor),
  p: () => showTab("passes"),
  b: () => beside.choose(beside.kernel ? "" : String((kernels.indexOf(state.kernel) + 1) % kernels.length)),
  Escape: () => {
    byId("help").hidden = true;
    hold(null);
  },
  ArrowLeft: () => state.tab === "passes" && passes.go(passes.place - 1),
  ArrowRight: () => state.tab === "passes" && passes.go(passes.place + 1),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || ["INPUT", "SELECT"].includes(event.target.tagName)) return;
  const level = /^[1-9]$/.test(event.key) ? state.kernel.levels[event.key - 1] : undefined;
  if (level) showTab(level.name);
  else if (KEYS[event.key]) KEYS[event.key]();
  else return;
  event.preventDefault();
});
byId("theme").addEventListener("click", turnTheme);
byId("keys").addEventListener("click", turnHelp);
byId("kernels").addEventListener("change", (event) => showKernel(Number(event.target.value), state.tab));

/** `#tab=asm&line=19&pass=5&theme=dark&kernel=1&beside=2`: what to begin with. */
function begin() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const dark = matchMedia("(prefers-color-scheme: dark)");
  setTheme(asked.get("theme") || (dark.matches ? "dark" : "light"));
  dark.addEventListener("change", () => setTheme(dark.matches ? "dark" : "light"));
  byId("kernels").append(...kernels.map((one, k) => Object.assign(make("option", "", one.name), { value: k })));
  byId("kernels").disabled = kernels.length < 2;
  const number = Number(asked.get("kernel") || 0);
  showKernel(number < kernels.length ? number : 0, asked.get("tab"));
  if (asked.has("beside")) beside.choose(asked.get("beside"));
  if (asked.has("pass")) passes.go(Number(asked.get("pass")));
  if (asked.has("line")) hold(fromLine(`${state.kernel.source[0][0]}:${asked.get("line")}`), "source");
}

begin();
