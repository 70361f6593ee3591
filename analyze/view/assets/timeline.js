// The timeline: a lane a thread and strand, drawn on a canvas from windows of
// the run at the resolution that is seen.

const laneHeight = 24, labelWidth = 84, rulerHeight = 24;
const colours = {running: '--run', spinning: '--spin', waiting: '--wait', blocked: '--block'};

function windowKey(level, n, page) { return `window/${level}/${n}/${page}`; }

class TimelineView {
  constructor() {
    this.canvas = h('canvas', {tabindex: '0', 'aria-label': 'timeline'});
    this.spacer = h('div', {class: 'lanes'}, this.canvas);
    this.scroller = h('div', {class: 'scroller'}, this.spacer);
    this.info = h('p', {class: 'info'});
    this.showEdges = h('input', {type: 'checkbox', checked: true, on: {change: () => this.draw()}});
    const button = (text, title, f) => h('button', {title, 'aria-label': title, on: {click: f}}, text);
    this.el = h('section', {class: 'timeline'},
      h('div', {class: 'bar'},
        button('+', 'zoom in (+)', () => this.zoom(1 / 2)), button('−', 'zoom out (-)', () => this.zoom(2)),
        button('←', 'earlier', () => this.pan(-1 / 3)), button('→', 'later', () => this.pan(1 / 3)), button('all', 'the whole run (0)', () => this.look(0, this.data.end)),
        button('◀ race', 'previous race (p)', () => this.toMark(-1)), button('race ▶', 'next race (n)', () => this.toMark(1)),
        h('label', {}, this.showEdges, ' synchronisation'),
        h('span', {class: 'legend'}, Object.keys(colours).map(s => h('span', {class: 'key ' + s}, s)), h('span', {class: 'key racy'}, 'race'))),
      this.scroller, this.info);
    this.canvas.addEventListener('wheel', e => this.wheel(e), {passive: false});
    this.canvas.addEventListener('pointerdown', e => this.down(e));
    this.canvas.addEventListener('pointermove', e => this.hover(e));
    this.scroller.addEventListener('scroll', () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.scroller);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
    this.windows = new Map();
  }

  async show(range) {
    if (!this.data) {
      this.data = await ask('timeline');
      this.marks = this.data.marks.map(m => ({...m, from: Math.min(...m.times), to: Math.max(...m.times)})).sort((a, b) => a.from - b.from);
      this.laneOf = new Map(this.data.lanes.filter(l => !l.strand).map(l => [l.thread, l.lane]));
      this.from = 0;
      this.to = this.data.end;
      this.spacer.style.height = this.data.lanes.length * laneHeight + rulerHeight + 'px';
    }
    const m = /^(\d+)-(\d+)$/.exec(range || '');
    if (m) {
      this.from = Math.max(0, Math.min(Number(m[1]), this.data.end - 1));
      this.to = Math.min(this.data.end, Math.max(this.from + 1, Number(m[2])));
    }
    if (this.draw()) await this.pending;
  }

  // look shows a part of the run and puts it into the address.
  look(from, to) {
    const end = this.data.end, length = Math.max(Math.min(20, end), Math.min(end, to - from));
    this.from = Math.max(0, Math.min(end - length, from));
    this.to = this.from + length;
    this.draw();
    clearTimeout(this.later);
    this.later = setTimeout(() => {
      if (main.dataset.part === 'timeline' && location.hash.startsWith('#timeline')) stay(`timeline/${Math.floor(this.from)}-${Math.ceil(this.to)}`);
    }, 100);
  }

  zoom(factor, at = (this.from + this.to) / 2) { this.look(at - (at - this.from) * factor, at + (this.to - at) * factor); }

  pan(part) { const d = (this.to - this.from) * part; this.look(this.from + d, this.to + d); }

  toMark(by) {
    if (!this.marks.length) return;
    const at = this.marks.findIndex(m => m.id === this.markID);
    this.goMark(this.marks[(at < 0 ? (by > 0 ? 0 : this.marks.length - 1) : at + by + this.marks.length) % this.marks.length]);
  }

  goMark(m) {
    this.markID = m.id;
    const around = Math.max(100, 2 * (m.to - m.from));
    this.look(m.from - around, m.to + around);
    this.tell(m);
  }

  get width() { return this.scroller.clientWidth; }

  x(time) { return labelWidth + (time - this.from) / (this.to - this.from) * (this.width - labelWidth); }

  time(x) { return this.from + (x - labelWidth) / (this.width - labelWidth) * (this.to - this.from); }

  wheel(e) {
    if (!e.ctrlKey && !e.shiftKey && Math.abs(e.deltaY) > Math.abs(e.deltaX) && this.scroller.scrollHeight > this.scroller.clientHeight) return;
    e.preventDefault();
    if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) this.pan((e.deltaX || e.deltaY) / this.width);
    else this.zoom(Math.exp(e.deltaY / 300), this.time(e.offsetX));
  }

  down(e) {
    const x = e.offsetX, y = e.offsetY, from = this.from, to = this.to;
    let moved = false;
    const move = ev => {
      const d = (e.clientX - ev.clientX) / (this.width - labelWidth) * (to - from);
      if (Math.abs(ev.clientX - e.clientX) > 3) moved = true;
      if (moved) this.look(from + d, to + d);
    };
    const up = () => {
      removeEventListener('pointermove', move);
      removeEventListener('pointerup', up);
      if (!moved) this.tell(this.under(x, y));
    };
    addEventListener('pointermove', move);
    addEventListener('pointerup', up);
  }

  hover(e) {
    const x = this.under(e.offsetX, e.offsetY);
    this.canvas.title = !x ? '' : x.id ? `${x.id} ${shown(x.what)}` : shown(this.words(x));
  }

  // under finds a mark or what a lane does at a place of the canvas.
  under(x, y) {
    for (const m of this.marks) {
      if (m.to < this.from || m.from > this.to) continue;
      for (let i = 0; i < 2; i++) {
        if (Math.hypot(this.x(m.times[i]) - x, this.y(m.threads[i]) - y) < 7) return m;
      }
    }
    const lane = Math.floor((y - rulerHeight + this.scroller.scrollTop) / laneHeight);
    if (x < labelWidth || y < rulerHeight || lane < 0 || lane >= this.data.lanes.length) return null;
    const time = this.time(x);
    for (const w of this.best(Math.floor(lane / this.data.pageLanes))) {
      if (time < w.from || time > w.to) continue;
      const l = w.lanes.find(l => l.lane === lane);
      const i = l && (l.intervals || []).find(i => i.from <= time && time < i.to);
      if (i) return {...i, lane, window: w};
      const cell = l && l.cells && l.cells[Math.floor((time - w.from) / w.step)];
      if (cell) return {cell, lane, window: w};
    }
    return {lane};
  }

  words(x) {
    const lane = this.data.lanes[x.lane].name;
    if (x.cell) {
      const parts = Object.keys(colours).filter(s => x.cell[s]).map(s => `${s} ${thousands(x.cell[s])}`);
      return `${lane}: ${parts.join(', ') || 'not there'} (of ${thousands(x.window.step)} instructions)`;
    }
    if (!x.state) return `${lane}: not there`;
    let text = `${lane}: ${x.state} for ${thousands(x.to - x.from)} instructions, from ${thousands(x.from)}`;
    if (x.kind && x.kind !== 'none') text += `, ${x.kind} ${x.window.objects[x.object] || (x.kind === 'join' ? 'T' + x.object : '0x' + x.object.toString(16))}`;
    if (x.by >= 0) text += x.state === 'running' ? ` as T${x.by}` : `, kept by T${x.by}`;
    return text;
  }

  tell(x) {
    if (!x) return replace(this.info);
    if (x.id) {
      this.markID = x.id;
      this.draw();
      return replace(this.info, h('a', {href: '#' + x.id}, x.id), ` ${x.what}: T${x.threads[0]} at ${thousands(x.times[0])}, T${x.threads[1]} at ${thousands(x.times[1])}`);
    }
    const c = x.pc && x.window.calls[x.pc];
    return replace(this.info, this.words(x), c && c.file && [' in ', c.fn, ' ', h('a', {href: sourceLink(c.file, c.line)}, `${baseName(c.file)}:${c.line}`)]);
  }

  y(thread) {
    return rulerHeight + this.laneOf.get(thread) * laneHeight + laneHeight / 2 - this.scroller.scrollTop;
  }

  // needed are the windows that show what is in sight of a page of lanes: four to
  // sixteen of them, as far as windows are divided.
  needed(page) {
    const length = this.to - this.from, end = this.data.end;
    let level = 0;
    while (level + 1 < this.data.levels && end / 4 ** level > length) level++;
    const size = end / 4 ** level, list = [];
    for (let n = Math.floor(this.from / size); n <= Math.min(4 ** level - 1, Math.floor(this.to / size)); n++) list.push([level, n, page]);
    return list;
  }

  // known gives the finest window that is there for one that is needed.
  known([level, n, page]) {
    for (; level >= 0; level--, n = Math.floor(n / 4)) {
      const w = this.windows.get(windowKey(level, n, page));
      if (w) return {w, level};
    }
    return null;
  }

  // best gives the windows to draw for what is in sight, and asks for what lacks.
  best(page, ask) {
    const list = new Set();
    for (const want of this.needed(page)) {
      const have = this.known(want);
      if (have) list.add(have.w);
      if (!ask || have && (have.level === want[0] || have.w.whole)) continue;
      this.fetch(want, have);
    }
    return list;
  }

  // fetch asks for a window, or for one above it that is not there yet.
  fetch([level, n, page], have) {
    let key = windowKey(level, n, page);
    while (!has(key) && level > (have ? have.level + 1 : 0)) {
      level--;
      n = Math.floor(n / 4);
      key = windowKey(level, n, page);
    }
    if (!has(key) || this.windows.has(key) || this.asked?.has(key)) return;
    this.asked = (this.asked || new Set()).add(key);
    this.pending = ask(key).then(w => {
      w.whole = w.lanes.every(l => l.complete) && w.edges.length === w.all_edges;
      this.windows.set(key, w);
      this.asked.delete(key);
      this.draw();
      return this.asked.size ? this.pending : null;
    }, e => { this.asked.delete(key); replace(this.info, e.message); });
  }

  // draw draws what is in sight; it says whether something is still asked for.
  draw() {
    if (!this.data || !this.width) return false;
    const ratio = devicePixelRatio || 1, width = this.width, height = this.scroller.clientHeight;
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    this.canvas.style.width = width + 'px';
    this.canvas.style.height = height + 'px';
    const g = this.canvas.getContext('2d'), css = getComputedStyle(document.documentElement);
    const colour = name => css.getPropertyValue(name);
    g.scale(ratio, ratio);
    g.font = '12px system-ui, sans-serif';
    g.textBaseline = 'middle';
    const top = this.scroller.scrollTop;
    const first = Math.floor(top / laneHeight), last = Math.min(this.data.lanes.length - 1, Math.floor((top + height) / laneHeight));
    const palette = Object.fromEntries(Object.entries(colours).map(([s, name]) => [s, colour(name)]));
    for (let page = Math.floor(first / this.data.pageLanes); page <= Math.floor(last / this.data.pageLanes); page++) {
      if (!has(windowKey(0, 0, page))) {
        g.fillStyle = colour('--dim');
        g.fillText('This file does not have these lanes; hindsight view serves all.', labelWidth + 10, rulerHeight + Math.max(first, page * this.data.pageLanes) * laneHeight + laneHeight / 2 - top);
        continue;
      }
      for (const w of this.best(page, true)) {
        for (const l of w.lanes) if (l.lane >= first && l.lane <= last) this.lane(g, w, l, palette);
      }
    }
    if (this.showEdges.checked) this.edges(g, colour('--dim'), first, last);
    this.drawMarks(g, colour('--racy'), height);
    this.frame(g, first, last, top, colour);
    this.el.dataset.drawn = `${Math.floor(this.from)}-${Math.ceil(this.to)}`;
    return Boolean(this.asked?.size);
  }

  lane(g, w, l, palette) {
    const y = rulerHeight + l.lane * laneHeight - this.scroller.scrollTop + 3, tall = laneHeight - 6;
    const box = (state, from, to) => {
      const a = Math.max(labelWidth, this.x(from)), b = Math.min(this.width, this.x(to));
      if (b < labelWidth || a > this.width || !palette[state]) return;
      g.fillStyle = palette[state];
      const low = state === 'waiting' ? tall / 3 : tall;
      g.fillRect(a, y + tall - low, Math.max(b - a, 0.5), low);
    };
    for (const i of l.intervals || []) if (i.to >= this.from && i.from <= this.to) box(i.state, i.from, i.to);
    (l.cells || []).forEach((c, n) => { // shares of the cell's time, one on top of the other: within it their order is not known
      const from = w.from + n * w.step, to = Math.min(w.to, from + w.step);
      if (to < this.from || from > this.to) return;
      const a = Math.max(labelWidth, this.x(from)), b = Math.min(this.width, this.x(to));
      let bottom = y + tall;
      for (const s of ['running', 'spinning', 'blocked', 'waiting']) {
        if (!c[s]) continue;
        const part = c[s] / (to - from) * (s === 'waiting' ? tall / 3 : tall);
        g.fillStyle = palette[s];
        g.fillRect(a, bottom - part, Math.max(b - a, 0.5), part);
        bottom -= part;
      }
    });
  }

  edges(g, colour, first, last) {
    g.strokeStyle = colour;
    g.lineWidth = 0.7;
    g.globalAlpha = 0.6;
    const seen = new Set();
    let left = 0;
    const pages = new Set([first, last].map(l => Math.floor(l / this.data.pageLanes)));
    for (const w of [...pages].flatMap(page => [...this.best(page)])) {
      left += w.all_edges - w.edges.length;
      for (const e of w.edges) {
        const key = `${e.from} ${e.to} ${e.from_thread} ${e.to_thread}`;
        if (seen.has(key) || e.to < this.from || e.from > this.to) continue;
        seen.add(key);
        g.beginPath();
        g.moveTo(this.x(e.from), this.y(e.from_thread));
        g.lineTo(this.x(e.to), this.y(e.to_thread));
        g.stroke();
      }
    }
    g.globalAlpha = 1;
    this.hidden = left;
  }

  drawMarks(g, colour) {
    g.strokeStyle = g.fillStyle = colour;
    for (const m of this.marks) {
      if (m.to < this.from || m.from > this.to) continue;
      const [a, b] = m.times.map(t => this.x(t)), [c, d] = m.threads.map(t => this.y(t));
      g.lineWidth = m.id === this.markID ? 2.5 : 1.2;
      g.beginPath();
      g.moveTo(a, c);
      g.lineTo(b, d);
      g.stroke();
      for (const [x, y] of [[a, c], [b, d]]) {
        g.beginPath();
        g.arc(x, y, m.id === this.markID ? 6 : 4, 0, 7);
        g.fill();
      }
    }
  }

  // frame draws the names of the lanes and the scale over what is below them.
  frame(g, first, last, top, colour) {
    g.fillStyle = colour('--panel');
    g.fillRect(0, 0, labelWidth, this.scroller.clientHeight);
    g.fillRect(0, 0, this.width, rulerHeight);
    g.fillStyle = colour('--fg');
    for (let l = first; l <= last; l++) {
      const y = rulerHeight + l * laneHeight + laneHeight / 2 - top;
      if (y > rulerHeight) g.fillText(shown(this.data.lanes[l].name), 10, y);
    }
    const step = niceStep((this.to - this.from) / (this.width / 130));
    for (let t = Math.ceil(this.from / step) * step; t <= this.to; t += step) {
      const x = this.x(t);
      if (x < labelWidth) continue;
      g.fillText(thousands(Math.round(t)), x + 4, rulerHeight / 2);
      g.fillRect(x, rulerHeight - 7, 1, 7);
    }
    g.fillStyle = colour('--dim');
    g.fillText('instructions', 6, rulerHeight / 2);
    if (this.showEdges.checked && this.hidden) {
      const text = `${thousands(this.hidden)} edges are not drawn: zoom in`;
      g.fillText(text, this.width - g.measureText(text).width - 8, this.scroller.clientHeight - 10);
    }
  }

  key(e) {
    const f = {'+': () => this.zoom(1 / 2), '=': () => this.zoom(1 / 2), '-': () => this.zoom(2), 0: () => this.look(0, this.data.end),
      ArrowLeft: () => this.pan(-1 / 3), ArrowRight: () => this.pan(1 / 3), n: () => this.toMark(1), p: () => this.toMark(-1)}[e.key];
    if (f) f();
    return Boolean(f);
  }
}

// niceStep rounds a length up to 1, 2 or 5 times a power of ten.
function niceStep(x) {
  const p = 10 ** Math.floor(Math.log10(Math.max(x, 1)));
  return [1, 2, 5, 10].map(k => k * p).find(k => k >= x) || p;
}
