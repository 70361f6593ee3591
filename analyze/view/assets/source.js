// Source text with what is known about its lines.

function sourceLink(path, line) { return '#source/' + encodeURIComponent(path) + (line ? ':' + line : ''); }

// snippet shows a few lines around one; nothing when there is no text.
function snippet(path, source, line, around) {
  if (lineOf(source, line) === undefined) return null;
  const rows = [];
  for (let n = Math.max(1, line - around); n <= line + around; n++) {
    if (lineOf(source, n) === undefined) continue;
    rows.push(sourceRow(path, source, n, n === line ? 'lit' : ''));
  }
  return h('table', {class: 'source snippet'}, h('tbody', {}, rows));
}

// sourceRow is a line with its number and executions.
function sourceRow(path, source, n, mark, extra) {
  const count = source.byLine.get(n);
  const never = count && count[1] === 0;
  return h('tr', {class: [mark, never ? 'never' : ''].join(' ').trim() || null, 'data-line': n},
    h('td', {class: 'n'}, h('a', {href: sourceLink(path, n)}, n)),
    h('td', {class: 'c', title: count ? (never ? 'never executed' : `executed ${plural(count[1], 'time')} by ${plural(count[2], 'thread')}`) : null},
      count ? (never ? '–' : short(count[1])) : ''),
    h('td', {class: 't'}, expand(lineOf(source, n))),
    extra !== undefined && h('td', {class: 'x'}, extra));
}

// short writes a count in a few characters.
function short(n) {
  for (const [unit, size] of [['G', 1e9], ['M', 1e6], ['k', 1e4]]) {
    if (n >= size) return (n / (unit === 'k' ? 1e3 : size)).toPrecision(3) + unit;
  }
  return String(n);
}

function expand(text) { return text.replace(/\t/g, '    '); }

class SourceView {
  constructor() {
    this.files = h('nav', {class: 'files', 'aria-label': 'files'});
    this.text = h('article', {class: 'text', tabindex: '0'});
    this.el = h('section', {class: 'sources'}, this.files, this.text);
    this.shown = -1;
  }

  async load() {
    if (this.list) return;
    this.list = await ask('files');
    this.lines = await raceLines();
    const item = (f, i) => h('a', {href: sourceLink(f.path), title: f.path, 'data-file': i}, baseName(f.path),
      h('span', {class: 'note'}, ` ${f.executed}/${f.code}`), this.lines.has(f.path) && h('span', {class: 'mark'}, ' ●'));
    const own = [], others = [];
    this.list.forEach((f, i) => (f.own ? own : others).push(item(f, i)));
    replace(this.files, own, others.length > 0 && h('details', {}, h('summary', {}, `${others.length} of libraries`), others));
  }

  // show shows a file and goes to a line of it.
  async show(path, line) {
    await this.load();
    if (!this.list.length) {
      replace(this.text, message('The program has no debug information: compile it with -g.'));
      return;
    }
    let n = path ? this.list.findIndex(f => f.path === path) : 0;
    if (n < 0) n = this.list.findIndex(f => f.path.endsWith('/' + path)); // a link that someone wrote
    if (n < 0) {
      replace(this.text, message(`The program has no code of ${path}.`));
      this.shown = -1;
      return;
    }
    if (n !== this.shown) {
      const f = this.list[n];
      replace(this.text, h('h2', {}, f.path));
      let source = null;
      try {
        source = await sourceOf(f.path);
      } catch (e) {
        replace(this.text, h('h2', {}, f.path), message(e.message));
        return;
      }
      replace(this.text, h('h2', {}, f.path), this.table(f.path, source));
      this.shown = n;
    }
    for (const a of this.files.querySelectorAll('a')) a.classList.toggle('here', a.dataset.file === String(n));
    for (const tr of this.text.querySelectorAll('tr.at')) {
      tr.classList.remove('at');
      tr.querySelector('.actions')?.remove();
    }
    const row = line && this.text.querySelector(`tr[data-line="${Number(line)}"]`);
    if (row) {
      row.classList.add('at');
      row.lastChild.append(h('span', {class: 'actions'}, lineActions(this.list[n].path, Number(line))));
      centre(this.text, row);
    } else {
      this.text.scrollTop = 0;
    }
  }

  table(path, source) {
    if (!source) return message('This file has only the program\'s own sources.');
    if (!source.text.size) return message('The text of this file was not found. Give its folder with --source-dir.');
    const races = this.lines.get(path) || new Map();
    const rows = [...source.text.keys()].map(n => {
      const ids = races.get(n);
      return sourceRow(path, source, n, ids ? 'racy' : '', ids ? [...ids].slice(0, 8).map(id => h('a', {class: 'chip', href: '#' + id}, id)) : '');
    });
    return h('table', {class: 'source'}, h('tbody', {}, rows));
  }
}

let racyLines = null;

// raceLines gives, by file and line, the groups of races with an access there.
async function raceLines() {
  if (racyLines) return racyLines;
  const lines = new Map();
  if (head.parts.includes('races')) {
    const data = await ask('races');
    for (const r of data.races) {
      for (const a of r.accesses) {
        const f = data.frames[a.at];
        if (f.file < 0) continue;
        const path = data.files[f.file];
        if (!lines.has(path)) lines.set(path, new Map());
        const file = lines.get(path);
        if (!file.has(f.line)) file.set(f.line, new Set());
        file.get(f.line).add(r.group);
      }
    }
  }
  racyLines = lines;
  return lines;
}
