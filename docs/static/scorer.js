// How search orders what it finds. What users read comes before decision records and pages for developers.
// A result is [page, title, anchor, description, score, file].
const FOR_DEVELOPERS = /^(adr\/|contributing|ir$|passes$|storage$|decisions|changelog)/;

var Scorer = {
  score: ([page, title, , , score]) => {
    if (FOR_DEVELOPERS.test(page)) return score - 30;
    const depth = title.startsWith("ti.") ? title.split(".").length : 0;
    return score + (page.startsWith("api/") ? 3 : 0) - Math.max(0, depth - 2); // `ti.save` before `ti.Field.save`
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
