// What the rows of a task's card mean, and what an instruction does.

const LEGEND = {
  iterations: "the box that the loop runs over",
  reads: "fields and arrays that it reads",
  writes: "fields and arrays that it writes",
  "per iteration": "bytes of memory that an iteration reads and writes, outside of inner loops",
  "per inner iteration": "the same for an iteration of the innermost loops",
  neighbours: "the distance in memory between the accesses of two neighbouring iterations: side by side is best",
  price: "Weft's estimate of the work of an iteration, in instructions. A chunk of the loop that is worth a thread " +
    "costs 40 000",
  lanes: "how many iterations run at once, each in a lane of a vector register; or why they do not",
  "moved by lanes": "how vectors reach memory: side by side and shared are fast; gathered and scattered take an " +
    "access for each lane",
  copies: "fields of which each thread has a copy, so that threads do not wait for one another",
  "a thread takes": "how many neighbouring iterations a thread of the GPU runs",
  "a warp takes": "what the 32 threads of a warp share",
  "a block has": "copies of fields in the shared memory of a block",
  block: "how many threads a block of the GPU has",
  registers: "registers of a thread: with many, fewer threads run at once",
  "shared memory": "bytes of the fast memory that a block uses",
  measured: "the time of the loop in a launch, by the clock: the least of several launches with all threads",
  lines: "beside the source: the share of the samples of its task that were at an instruction of the line. A sample is " +
    "the place of a processor after each few milliseconds. Point at a share to see the numbers. An instruction that LLVM moved or merged may count for another line, " +
    "and one that waits counts for the line after it. With n samples, a share is off by about 1 / sqrt(n)",
  simulated: "cycles of one pass of an innermost loop, by llvm-mca: it runs the instructions over and over on a model " +
    "of a processor that finds all data in its first cache. A loop that waits for memory takes longer",
};

/** The meanings of the rows that the cards have, to be opened by a click. */
function legendOf(cards) {
  const made = make("details", "legend"), list = make("dl");
  made.append(make("summary", "", "What the rows mean"), list);
  const names = new Set(cards.flatMap((card) => card.rows.map(([name]) => name)));
  for (const name of Object.keys(LEGEND)) {
    if (names.has(name)) list.append(make("dt", "", name), make("dd", "", LEGEND[name]));
  }
  return made;
}

/** What the instruction of a row does, and what it costs where that is known. */
function explainRow(row, kernel, level) {
  if (row.sign === "...") return "";
  const what = explain(row.text, kernel.instructions[level] || {});
  const cost = level === "asm" && kernel.costs[row.number - 1];
  if (!cost) return what;
  return `${what || row.text.trim().split(/\s/)[0]}; result after ${cost[0]} cycles, another one every ${cost[1]}`;
}

/** What the instruction of a line does; "" for lines without one. `OPCODE` is that of `instructions.py`. */
const OPCODE = /^\s*(?:@!?%\w+\s+)?(?:[%@$\w.[\], ]+ = )?(?:tail |lock\s+)?([a-z_][\w.]*)/;

function explain(line, known) {
  const word = (OPCODE.exec(line) || [])[1];
  return word && Object.hasOwn(known, word) ? `${word}: ${known[word]}` : "";
}
