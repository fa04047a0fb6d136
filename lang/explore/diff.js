// The difference of two texts, given as arrays of line numbers: lines that occur once in both, in the longest order
// that both share, hold the texts together ("patience"); between them the old lines go and the new ones come.

/** Pairs [sign, line]: " " stays, "-" goes, "+" comes. */
function diffLines(before, after) {
  const rows = [];
  compareParts(before, 0, before.length, after, 0, after.length, rows);
  return rows;
}

function compareParts(a, a0, a1, b, b0, b1, rows) {
  while (a0 < a1 && b0 < b1 && a[a0] === b[b0]) {
    rows.push([" ", a[a0]]);
    a0 += 1;
    b0 += 1;
  }
  let same = 0;
  while (a0 < a1 - same && b0 < b1 - same && a[a1 - 1 - same] === b[b1 - 1 - same]) same += 1;
  const end = a1 - same;
  compareMiddle(a, a0, end, b, b0, b1 - same, rows);
  for (let k = end; k < a1; k += 1) rows.push([" ", a[k]]);
}

function compareMiddle(a, a0, a1, b, b0, b1, rows) {
  const anchors = a0 < a1 && b0 < b1 ? longestRise(onceInBoth(a, a0, a1, b, b0, b1)) : [];
  if (!anchors.length) {
    for (let k = a0; k < a1; k += 1) rows.push(["-", a[k]]);
    for (let k = b0; k < b1; k += 1) rows.push(["+", b[k]]);
    return;
  }
  for (const [x, y] of anchors) {
    compareParts(a, a0, x, b, b0, y, rows);
    rows.push([" ", a[x]]);
    a0 = x + 1;
    b0 = y + 1;
  }
  compareParts(a, a0, a1, b, b0, b1, rows);
}

/** Places [in a, in b] of the lines that occur once in each, in the order of a. */
function onceInBoth(a, a0, a1, b, b0, b1) {
  const places = new Map();
  for (let k = b0; k < b1; k += 1) places.set(b[k], places.has(b[k]) ? -1 : k);
  const counts = new Map();
  for (let k = a0; k < a1; k += 1) counts.set(a[k], (counts.get(a[k]) || 0) + 1);
  const pairs = [];
  for (let k = a0; k < a1; k += 1) {
    const place = places.get(a[k]);
    if (place !== undefined && place >= 0 && counts.get(a[k]) === 1) pairs.push([k, place]);
  }
  return pairs;
}

/** The longest subsequence of those pairs whose second places rise. */
function longestRise(pairs) {
  const tops = [], before = new Array(pairs.length).fill(-1);
  pairs.forEach(([, place], k) => {
    let low = 0, high = tops.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (pairs[tops[middle]][1] < place) low = middle + 1;
      else high = middle;
    }
    before[k] = low ? tops[low - 1] : -1;
    tops[low] = k;
  });
  const rise = [];
  for (let k = tops.length ? tops[tops.length - 1] : -1; k >= 0; k = before[k]) rise.push(pairs[k]);
  return rise.reverse();
}

/** A diff with the long stretches that stay folded: rows [sign, line], or ["...", rows left out]. */
function foldDiff(rows, around) {
  const near = new Uint8Array(rows.length);
  rows.forEach(([sign], k) => {
    if (sign === " ") return;
    near.fill(1, Math.max(0, k - around), Math.min(rows.length, k + around + 1));
  });
  const shown = [];
  for (let k = 0; k < rows.length; ) {
    let end = k;
    while (end < rows.length && !near[end]) end += 1;
    if (end - k > 2) shown.push(["...", rows.slice(k, end)]);
    else shown.push(...rows.slice(k, end));
    for (k = end; k < rows.length && near[k]; k += 1) shown.push(rows[k]);
  }
  return shown;
}
