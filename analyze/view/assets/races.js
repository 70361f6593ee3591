// The ranked list of races and one race in full.

const raceHeight = 46; // pixels of a row of the list

class RacesView {
  constructor() {
    this.filter = {variable: '', file: '', thread: ''};
    this.list = new VirtualList(g => this.row(g), raceHeight, g => go(g.id));
    this.detail = h('article', {class: 'detail'});
    this.summary = h('p', {class: 'note'});
    this.filters = h('form', {class: 'filters', on: {submit: e => e.preventDefault()}});
    this.el = h('section', {class: 'races'}, h('div', {class: 'side'}, this.filters, this.summary, this.list.el), this.detail);
  }

  async load() {
    if (this.data) return;
    const data = await ask('races');
    this.byID = new Map(data.races.map(r => [r.id, r]));
    this.groups = new Map(data.groups.map(g => [g.id, g]));
    this.members = new Map();
    this.mutexes = new Map(data.mutexes.map(m => [m.name, m]));
    this.threads = new Map(data.threads.map(t => [t.id, t]));
    for (const r of data.races) {
      if (!this.members.has(r.group)) this.members.set(r.group, []);
      this.members.get(r.group).push(r);
    }
    this.data = data;
    this.makeFilters();
  }

  makeFilters() {
    const files = new Set(), threads = new Set();
    for (const r of this.data.races) {
      for (const a of r.accesses) {
        const f = this.data.frames[a.at];
        if (f.file >= 0) files.add(baseName(this.data.files[f.file]));
        threads.add(a.thread);
      }
    }
    const change = name => e => { this.filter[name] = e.target.value; this.narrow(); };
    const choice = (name, label, values) => h('select', {name, 'aria-label': label, on: {change: change(name)}},
      h('option', {value: ''}, label), values.map(v => h('option', {value: v}, name === 'thread' ? 'T' + v : v)));
    replace(this.filters,
      h('input', {type: 'search', name: 'variable', placeholder: 'variable (/)', 'aria-label': 'variable', on: {input: change('variable')}}),
      choice('file', 'all files', [...files].sort()),
      choice('thread', 'all threads', [...threads].sort((a, b) => a - b)));
  }

  matches(g) {
    const {variable, file, thread} = this.filter;
    if (variable && !g.what.toLowerCase().includes(variable.toLowerCase())) return false;
    if (!file && !thread) return true;
    return this.members.get(g.id).some(r => r.accesses.some(a => {
      const f = this.data.frames[a.at];
      return (!file || f.file >= 0 && baseName(this.data.files[f.file]) === file) && (!thread || String(a.thread) === thread);
    }));
  }

  // narrow shows the groups that the filters let through.
  narrow() {
    const list = this.data.groups.filter(g => this.matches(g));
    const shown = this.shown ? this.byID.get(this.shown).group : '';
    this.list.show(list, list.findIndex(g => g.id === shown));
    const all = this.data.groups.length;
    replace(this.summary, list.length === all ? plural(all, 'group') : `${thousands(list.length)} of ${plural(all, 'group')}`,
      ` of ${plural(this.data.static, 'race')}, ranked: ${this.data.rankedBy}`,
      this.data.suppressed > 0 && `; ${thousands(this.data.suppressed)} suppressed`, this.notes());
  }

  // notes say what the list does not cover.
  notes() { return (this.data.notes || []).map(text => h('strong', {class: 'warning'}, ' Note: ' + text + '.')); }

  row(g) {
    return h('div', {class: g.under ? 'race artifact' : 'race', title: g.what + '\n' + g.where, 'data-id': g.id},
      h('span', {class: 'id'}, g.id), h('span', {class: 'what'}, g.what), h('span', {class: 'often'}, '×' + g.often),
      h('span', {class: 'where'}, g.under ? `artifact of ${g.under}: ` : '', g.where));
  }

  async show(id) {
    await this.load();
    if (!this.data.groups.length) {
      replace(this.summary, 'The run has no races.', this.notes());
      replace(this.detail, message('No two accesses of the run raced.'));
      return;
    }
    if (id && !this.byID.has(id)) {
      this.shown = '';
      this.narrow();
      replace(this.detail, message(`The run has no race ${id}.`));
      return;
    }
    this.shown = id || this.data.groups[0].id;
    this.narrow();
    replace(this.detail, this.race(this.byID.get(this.shown)));
    this.detail.scrollTop = 0;
  }

  race(r) {
    const g = this.groups.get(r.group), members = this.members.get(r.group);
    return [
      h('h2', {}, h('a', {href: '#' + r.id}, r.id), ' ', g.what),
      h('p', {}, r.dynamic === '1' ? 'Once' : `${r.dynamic} times`, members.length > 1 && ` by this pair of instructions, ${g.often} by ${members.length} pairs`,
        r.impact && h('strong', {}, '. The value ' + r.impact), '. The first instance:'),
      (head.static ? has('slice/race/' + r.id) : head.slices) && h('p', {}, h('a', {class: 'chip action', href: '#slice/' + r.id}, 'what led to it, and where the value went')),
      h('div', {class: 'sides'}, this.access(r.accesses[1], 'first'), this.access(r.accesses[0], 'then')),
      this.artifact(r), this.location(r.location), this.consequences(r), this.lockList(r), this.taskList(r), this.threadList(r),
      members.length > 1 && h('section', {}, h('h3', {}, 'Pairs of instructions of this group'),
        h('p', {class: 'chips'}, members.slice(0, 200).map(m => h('a', {href: '#' + m.id, class: m.id === r.id ? 'chip here' : 'chip'}, `${m.id} ×${m.dynamic}`)),
          members.length > 200 && ` and ${thousands(members.length - 200)} more`)),
      h('p', {class: 'note'}, 'fingerprint ', h('code', {}, r.fingerprint)),
    ];
  }

  access(a, when) {
    const f = this.data.frames[a.at];
    return h('section', {class: 'side-of-race ' + (a.verb.includes('write') ? 'writes' : 'reads')},
      h('h3', {}, h('span', {class: 'note'}, when + ' '), `${a.verb} of ${plural(a.size, 'byte')} by ${a.actor}`),
      h('p', {class: 'note'}, `at ${a.address}`, a.locks.length ? ', holding ' : ', no lock held',
        a.locks.map((l, i) => [i ? ', ' : '', h('span', {class: 'lock'}, `${l.symbol || l.name} (${l.mode})`)])),
      this.snippet(f), this.stack(a.stack));
  }

  snippet(f) {
    if (f.file < 0 || !f.line) return null;
    const path = this.data.files[f.file];
    return soon(sourceOf(path), source => [snippet(path, source, f.line, 4), h('p', {}, lineActions(path, f.line))]);
  }

  fn(f) { return f.fn < 0 ? '??' : this.data.functions[f.fn]; }

  // place is where a frame stands, as a link when its source is there.
  place(f) {
    if (f.file < 0 || !f.line) return h('span', {class: 'note'}, f.pc);
    const path = this.data.files[f.file], text = `${baseName(path)}:${f.line}`;
    return h('a', {href: sourceLink(path, f.line), title: path}, text);
  }

  // stack shows frames; those of libraries, two or more together, are folded.
  stack(n) {
    if (n < 0) return h('p', {class: 'note'}, 'no call stack');
    const list = this.data.stacks[n].map(i => this.data.frames[i]);
    const line = f => h('li', {class: f.own ? 'own' : 'foreign'}, h('span', {class: 'fn'}, this.fn(f)), ' ', this.place(f));
    const items = [];
    for (let i = 0; i < list.length;) {
      let end = i;
      while (end < list.length && !list[end].own) end++;
      if (i > 0 && end - i > 1) {
        items.push(h('li', {class: 'fold'}, h('details', {}, h('summary', {}, `${end - i} frames of libraries`), h('ol', {class: 'stack'}, list.slice(i, end).map(line)))));
        i = end;
      } else {
        items.push(line(list[i]));
        i++;
      }
    }
    return h('ol', {class: 'stack'}, items);
  }

  location(l) {
    const name = l.path || l.name;
    const size = l.size ? ` of ${plural(l.size, 'byte')}` : '';
    const text = {
      global: `global variable ${l.name}${size}`, heap: `heap block${size}, allocated by T${l.thread}`,
      stack: `stack of T${l.thread}` + (l.name ? `: ${l.name}` : ''), tls: `thread-local variable of T${l.thread}` + (l.name ? `: ${l.name}` : ''),
    }[l.kind] || 'unknown memory';
    return h('section', {}, h('h3', {}, 'Memory'), h('p', {}, text, name && name !== l.name && `; the access is to ${name}`, ' ', h('code', {class: 'note'}, l.address)),
      l.stack >= 0 && this.stack(l.stack), l.freed >= 0 && [h('p', {}, 'freed at'), this.stack(l.freed)]);
  }

  lockList(r) {
    const names = [...new Set(r.accesses.flatMap(a => a.locks.map(l => l.name)))];
    if (!names.length) return null;
    return h('section', {}, h('h3', {}, 'Locks held'), names.map(name => {
      const m = this.mutexes.get(name);
      if (!m) return null;
      return h('details', {}, h('summary', {}, `${m.symbol || m.name} (${m.address}), ${m.how} by T${m.thread}`), this.stack(m.stack));
    }));
  }

  taskList(r) {
    const tasks = new Map(r.accesses.filter(a => a.task).map(a => [a.task.name, a.task]));
    if (!tasks.size) return null;
    return h('section', {}, h('h3', {}, this.data.goroutines ? 'Goroutines' : 'Tasks'),
      [...tasks.values()].map(t => h('details', {}, h('summary', {}, t.name + ', created at'), this.stack(t.stack))));
  }

  threadList(r) {
    if (this.data.goroutines) return null; // which of the runtime's threads they were on says nothing
    const ids = [...new Set(r.accesses.map(a => a.thread))].filter(id => this.threads.has(id) && this.threads.get(id).parent >= 0);
    if (!ids.length) return null;
    return h('section', {}, h('h3', {}, 'Threads'), ids.map(id => {
      const t = this.threads.get(id);
      return h('details', {}, h('summary', {}, `T${id}${t.finished ? '' : ' (running)'} created by T${t.parent}`), this.stack(t.stack));
    }));
  }

  links(ids) { return ids.map((id, i) => [i ? ', ' : '', h('a', {href: '#' + id}, id)]); }

  artifact(r) {
    if (r.behind) {
      return h('p', {}, 'Also behind ', this.links(r.behind), ', whose value decided that this ran.');
    }
    const a = r.artifact;
    if (!a) return r.unexplained && h('p', {class: 'note'}, 'It may be an artifact of another race: ' + r.unexplained);
    return h('section', {}, h('h3', {}, `Artifact, by ${a.by}, of `, a.of.length ? this.links(a.of) : 'a race that is not reported'),
      h('p', {}, a.together && 'All of these together. ', a.repair && `When the cause is repaired: ${a.repair}.`),
      chainDrawing(a.chain, s => [s.text, ' ', this.fn(this.data.frames[s.at]), ' '], s => this.place(this.data.frames[s.at])));
  }

  consequences(r) {
    const list = this.data.races.filter(x => x.artifact && x.artifact.of.includes(r.id));
    if (!list.length) return null;
    return h('section', {}, h('h3', {}, `${plural(list.length, 'race')} that are consequences of this one`),
      h('p', {class: 'chips'}, list.slice(0, 100).map(x => h('a', {class: 'chip', href: '#' + x.id}, x.id)), list.length > 100 && ' …'));
  }

  move(by) { this.list.move(by); }
}

// chainDrawing draws steps as a path that goes down, in a lane for each thread.
function chainDrawing(steps, words, place) {
  const step = 34, lane = 26, threads = [...new Set(steps.map(s => s.thread))];
  const x = s => 16 + threads.indexOf(s.thread) * lane, y = i => 18 + i * step;
  const width = 24 + threads.length * lane, height = steps.length * step;
  const points = steps.map((s, i) => `${x(s)},${y(i)}`).join(' ');
  return h('div', {class: 'chain'},
    svg('svg', {width, height, viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true'},
      svg('polyline', {points, class: 'way'}),
      steps.map((s, i) => svg('circle', {cx: x(s), cy: y(i), r: 5, class: /race|racy/.test(s.kind) || i === 0 ? 'racy' : 'step'}))),
    h('ol', {}, steps.map(s => h('li', {style: {height: step + 'px'}}, h('span', {class: 'note'}, 'T' + s.thread + ' '), words(s), place(s)))));
}
