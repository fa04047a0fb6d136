// Colors for words: one expression for Python, one for everything below it.

const PYTHON = new RegExp(
  "(#.*)|(\"[^\"]*\"|'[^']*')|(@[\\w.]+|\\b(?:and|as|assert|break|class|continue|def|elif|else|False|for|from|if|" +
  "import|in|is|lambda|None|not|or|pass|return|True|while|with)\\b)|(\\b\\d[\\w.]*)|(\\bti\\.[\\w.]+)", "g");
const CODE = new RegExp(
  "((?:;|//|\\s#\\s).*|/\\*.*?\\*/)|(\"[^\"]*\")|(\\b(?:kernel|field|task|parallel|for|if|else|while|in|where|return|" +
  "define|load|store|call|br|ret|phi|getelementptr|atomic|binary|unary|const|address|body|bounds|prologue|epilogue|" +
  "yield|alloca|label)\\b)|" +
  "((?<![\\w%$.])-?(?:0x)?\\d[\\w.]*)|([%@$!][\\w.$]+|\\bU?(?:R|P)(?:\\d+|Z|T)\\b)", "g");
const KINDS = ["c", "s", "w", "n", "v"];

/** Append a line to an element, its words in colors. */
function paint(to, text, words) {
  let end = 0;
  for (const found of text.length < 2000 ? text.matchAll(words) : []) {
    if (found.index > end) to.append(text.slice(end, found.index));
    to.append(make("span", KINDS[found.slice(1).findIndex((part) => part !== undefined)], found[0]));
    end = found.index + found[0].length;
  }
  to.append(text.slice(end));
}

/** An element with a class and a text. */
function make(tag, kind, text) {
  const made = document.createElement(tag);
  if (kind) made.className = kind;
  if (text !== undefined) made.textContent = text;
  return made;
}
