// What the page knows: answers by key, from the page itself or from hindsight.

const embedded = new Map();
for (const el of document.querySelectorAll('script[type="application/json"]')) embedded.set(el.dataset.key, el);
const answers = new Map();
const head = JSON.parse(embedded.get('head').textContent);

// ask gives a promise of the answer under a key. One that fails is asked for
// again the next time.
function ask(key) {
  let answer = answers.get(key);
  if (!answer) {
    answer = fetchAnswer(key);
    answer.catch(() => answers.delete(key));
    answers.set(key, answer);
  }
  return answer;
}

async function fetchAnswer(key) {
  const el = embedded.get(key);
  if (el) return JSON.parse(el.textContent);
  if (head.static) throw new Error('This file does not have it; hindsight view serves everything.');
  let response;
  try {
    response = await fetch('data/' + key);
  } catch {
    throw new Error('hindsight does not answer: it was stopped.');
  }
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error || response.statusText);
  return answer;
}

// has tells whether the page can have the answer under a key.
function has(key) { return !head.static || embedded.has(key); }

let filesByPath = null;

// fileIndex gives the number of a source file, -1 when it is none.
async function fileIndex(path) {
  if (!head.parts.includes('source')) return -1;
  if (!filesByPath) {
    const files = await ask('files');
    filesByPath = new Map(files.map((f, i) => [f.path, i]));
  }
  return filesByPath.get(path) ?? -1;
}

// sourceOf gives the text and counts of a source file; null when there is no text.
async function sourceOf(path) {
  const n = await fileIndex(path);
  if (n < 0 || !has('source/' + n)) return null;
  const source = await ask('source/' + n);
  if (!source.byLine) {
    source.byLine = new Map(source.counts.map(c => [c[0], c]));
    source.text = new Map(source.chunks.flatMap(c => c.lines.map((t, i) => [c.from + i, t])));
    source.last = Math.max(0, ...source.chunks.map(c => c.from + c.lines.length - 1));
  }
  return source;
}

// lineOf is the text of a line; undefined when it is not there.
function lineOf(source, n) { return source?.text.get(n); }

function baseName(path) { return path.slice(path.lastIndexOf('/') + 1); }

function thousands(n) { return String(n).replace(/\B(?=(\d{3})+$)/g, ','); }

function plural(n, noun) { return n === 1 ? '1 ' + noun : thousands(n) + ' ' + noun + 's'; }
