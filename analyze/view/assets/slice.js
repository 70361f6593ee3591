// Slices: the source with what led to a value, or followed from it, lit.

// sliceLink is the address of a slice of a line; '' when it cannot be had.
function sliceLink(direction, path, line) {
  const n = filesByPath?.get(path) ?? -1;
  if (n < 0 || head.static ? !has(`slice/${direction}/${n}/${line}/last`) : !head.slices) return '';
  return `#slice/${direction}/${encodeURIComponent(path)}:${line}`;
}

// lineActions are what can be asked about a line.
function lineActions(path, line) {
  return [['backward', 'who wrote this?'], ['forward', 'where does it go?']].map(([direction, text]) => {
    const href = sliceLink(direction, path, line);
    return href && h('a', {class: 'chip action', href}, text);
  });
}

class SliceView {
  constructor() {
    this.contents = h('nav', {class: 'files', 'aria-label': 'contents'});
    this.text = h('article', {class: 'text slices', tabindex: '0'});
    this.el = h('section', {class: 'sources'}, this.contents, this.text);
    this.shown = '';
  }

  // show shows what an address names: R1, asked, or DIRECTION/PATH:LINE@INSTANCE;
  // ~SHEET.ROW at its end is a row.
  async show(link) {
    if (!link) link = has('slice/asked') && head.static ? 'asked' : '';
    if (head.parts.includes('source')) await fileIndex('');
    const [name, row] = link.split('~');
    if (!name) {
      replace(this.contents);
      replace(this.text, message('Choose a line under Source, or a race, and ask who wrote it or where it goes.'));
      this.shown = '';
      return;
    }
    if (name !== this.shown) {
      replace(this.text, message('following dependences …'));
      replace(this.contents);
      this.shown = '';
      const slice = await ask(this.keyOf(name));
      this.draw(name, slice);
      this.shown = name;
    }
    for (const tr of this.text.querySelectorAll('tr.at')) {
      tr.classList.remove('at');
      tr.querySelector('.actions')?.remove();
    }
    const tr = row ? this.text.querySelector(`tr[data-row="${CSS.escape(row)}"]`) : this.text.querySelector('tr.begun');
    if (!tr) return;
    if (row) {
      tr.classList.add('at');
      if (tr.dataset.path) tr.lastChild.append(h('span', {class: 'actions'}, ' ', lineActions(tr.dataset.path, Number(tr.dataset.line))));
    }
    for (let d = tr.closest('details'); d; d = d.parentElement.closest('details')) d.open = true;
    centre(this.text, tr);
  }

  keyOf(name) {
    if (name === 'asked') return 'slice/asked';
    if (/^R\d+$/.test(name)) return 'slice/race/' + name;
    const m = /^(backward|forward)\/(.*):(\d+)(?:@(\d+|last))?$/.exec(name);
    const n = m ? filesByPath?.get(m[2]) ?? -1 : -1;
    if (n < 0) throw new Error(`There is no slice ${name}.`);
    return `slice/${m[1]}/${n}/${m[3]}/${m[4] || 'last'}`;
  }

  draw(name, slice) {
    this.name = name;
    const to = (n, row) => '#slice/' + encodeURIComponent(name).replaceAll('%2F', '/').replaceAll('%3A', ':') + `~${n}.${row}`;
    replace(this.contents, slice.sheets.map((s, n) => [
      h('p', {class: 'title'}, s.title),
      s.rows.map((r, i) => r.begun && h('a', {href: to(n, i), class: 'begins'}, 'begins at ' + this.placeOf(r))),
      s.near.map(x => h('a', {href: to(n, x.row), title: x.way || null}, h('span', {class: 'far'}, x.far), ' ', this.placeOf(s.rows[x.row]),
        h('span', {class: 'note'}, ' ', x.values || ''))),
    ]));
    const m = /:(\d+)(?:@(\d+|last))?$/.exec(name);
    replace(this.text, h('h2', {}, slice.at),
      m && !head.static && h('form', {class: 'note', on: {submit: e => { e.preventDefault(); go('slice/' + name.replace(/@.*$/, '') + '@' + (e.target.n.value || 'last')); }}},
        'execution ', h('input', {name: 'n', size: 8, placeholder: 'last', value: m[2] && m[2] !== 'last' ? m[2] : '', pattern: '[0-9]*'}), ' of this line, from 0 ', h('button', {}, 'show')),
      slice.impact && h('ul', {}, slice.impact.map(t => h('li', {}, t))),
      h('p', {class: 'note'}, '← what a line depends on, → what depends on it: ', h('span', {class: 'data'}, 'data'), ', ', h('span', {class: 'control'}, 'control'), ', ', h('span', {class: 'crossing'}, 'between threads'), '.'),
      slice.sheets.map((s, n) => this.sheet(s, n, to)));
  }

  placeOf(r) { return r.file ? `${baseName(r.file)}:${r.line}` : r.text; }

  sheet(s, n, to) {
    const files = new Map(), rest = [];
    s.rows.forEach((r, i) => {
      if (!r.file) return rest.push([r, i]);
      if (!files.has(r.file)) files.set(r.file, []);
      files.get(r.file).push([r, i]);
    });
    const own = [...files].filter(([, rows]) => rows.some(([r]) => r.own));
    const others = [...files].filter(([, rows]) => !rows.some(([r]) => r.own));
    const table = rows => h('table', {class: 'source'}, h('tbody', {}, rows.map(([r, i]) => this.row(r, i, n, to, r.text))));
    return h('section', {}, h('h2', {}, s.title), h('p', {class: 'note'}, s.about, s.note && ' ' + s.note),
      own.map(([path, rows]) => this.file(path, rows, n, to)),
      others.length > 0 && h('details', {}, h('summary', {}, `${plural(others.length, 'file')} of libraries`), others.map(([path, rows]) => this.file(path, rows, n, to))),
      rest.length > 0 && h('details', {}, h('summary', {}, `${plural(rest.length, 'place')} without lines`), table(rest)));
  }

  // file shows the lit lines of a file; what is between them is folded.
  file(path, rows, n, to) {
    const body = h('tbody', {});
    const box = h('section', {}, h('h3', {}, path), h('table', {class: 'source'}, body));
    const draw = source => {
      let last = 0;
      body.replaceChildren();
      for (const [r, i] of rows) {
        this.fold(body, path, source, last + 1, r.line - 1);
        body.append(this.row(r, i, n, to, lineOf(source, r.line) ?? r.text ?? ''));
        last = r.line;
      }
      if (source) this.fold(body, path, source, last + 1, source.last);
    };
    draw(null);
    sourceOf(path).then(source => {
      if (!source) return;
      draw(source);
      const at = this.text.querySelector('tr.at');
      if (!at) this.show(location.hash.startsWith('#slice/') ? decodeURIComponent(location.hash.slice(7)) : '');
    }, () => {});
    return box;
  }

  // fold shows lines that are not lit: a few as they are, many when asked.
  fold(body, path, source, from, to) {
    if (!source || from > to) return;
    const line = k => lineOf(source, k) !== undefined && sourceRow(path, source, k, 'unlit');
    const lines = () => Array.from({length: to - from + 1}, (_, k) => line(from + k)).filter(Boolean);
    if (to - from < 2) return body.append(...lines());
    const tr = h('tr', {class: 'gap'}, h('td', {class: 'n'}), h('td'), h('td', {class: 't'}, h('button', {on: {click: () => tr.replaceWith(...lines())}}, `… ${plural(to - from + 1, 'line')}`)));
    body.append(tr);
  }

  row(r, i, n, to, text) {
    const link = l => h('a', {class: l.kind, href: to(n, l.row), title: l.title}, l.text);
    return h('tr', {class: r.begun ? 'lit begun' : 'lit', 'data-row': `${n}.${i}`, 'data-path': r.file || null, 'data-line': r.line || null},
      h('td', {class: 'n'}, h('a', {href: to(n, i)}, r.line || '·')), h('td', {class: 'c', title: r.threads}, r.count), h('td', {class: 't'}, expand(text)),
      h('td', {class: 'v'}, r.values || ''),
      h('td', {class: 'x'}, r.in && ['← ', r.in.map(l => [link(l), ' '])], r.out && ['→ ', r.out.map(l => [link(l), ' '])], r.more > 0 && h('span', {class: 'note'}, `${r.more} more`)));
  }

  move(by) {
    const rows = [...this.text.querySelectorAll('tr.lit')];
    const at = rows.findIndex(tr => tr.classList.contains('at') || tr.classList.contains('begun'));
    const tr = rows[Math.min(rows.length - 1, Math.max(0, at + by))];
    if (tr) go(tr.querySelector('.n a').getAttribute('href').slice(1));
  }
}
