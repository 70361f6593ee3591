// Tables with bars: what threads waited for, and which memory they shared.

// bars makes a table; the column that has bars is a number, its longest is full.
function bars(columns, rows) {
  const most = Math.max(1, ...rows.map(r => r.bar));
  return h('table', {class: 'bars'}, h('thead', {}, h('tr', {}, columns.map(c => h('th', {scope: 'col'}, c)))),
    h('tbody', {}, rows.map(r => h('tr', {}, r.cells.map((c, i) => h('td', {class: i === r.at ? 'barred' : null},
      i === r.at && h('span', {class: 'fill', style: {width: (100 * r.bar / most).toFixed(1) + '%'}}), h('span', {}, c)))))));
}

class SharingView {
  constructor() { this.el = h('section', {class: 'run tables'}); }

  async show() {
    if (this.el.childNodes.length) return;
    const show = [];
    if (head.contention) show.push(['Waiting', this.contention(await ask('contention'))]);
    if (head.sharing) show.push(['Sharing of memory', this.sharing(await ask('sharing'))]);
    else show.push(['Sharing of memory', h('p', {class: 'note'}, 'Record with run --arch to see which variables and cache lines threads share, and what that costs.')]);
    replace(this.el, show.map(([title, what]) => [h('h2', {}, title), what]));
  }

  contention(rep) {
    if (!rep.objects.length) return h('p', {}, 'No thread waited for a lock, barrier, condition or semaphore.');
    const rows = rep.objects.map(o => ({at: 2, bar: o.time, cells: [
      [h('strong', {}, o.name || o.address), h('div', {class: 'note'}, `${o.kind}, ${o.where}`)],
      `${thousands(o.waited)} of ${thousands(o.taken)}`, thousands(o.time), thousands(o.longest),
      this.some(o.pairs, p => `T${p.thread} for ${p.by === null ? 'nobody known' : 'T' + p.by}: ${plural(p.times, 'time')}, ${thousands(p.time)}`),
      this.some(o.sites, s => `${s.function || '??'} ${s.file ? s.file + ':' + s.line : s.pc}: ${thousands(s.time)}`)]}));
    return [h('p', {class: 'note'}, `Times are instructions that the run (${thousands(rep.time)}) executed meanwhile, summed over threads; they depend on the seed and the quantum.`),
      bars(['what', 'waited', 'time waited', 'longest', 'who for whom', 'where'], rows),
      h('p', {class: 'note'}, rep.objects_not_shown > 0 && `${thousands(rep.objects_not_shown)} more were waited for. `, `${plural(rep.objects_without_waits, 'object')} nobody waited for.`)];
  }

  some(list, words) {
    const most = 4;
    const item = x => h('li', {}, words(x));
    return [h('ul', {}, list.slice(0, most).map(item)), list.length > most && h('details', {}, h('summary', {}, `${list.length - most} more`), h('ul', {}, list.slice(most).map(item)))];
  }

  sharing(rep) {
    if (!rep.variables.length) return h('p', {}, 'No variable went to and fro between the caches.');
    const cost = v => v.counts.coherence + v.counts.upgrades;
    const rows = rep.variables.map(v => ({at: 2, bar: cost(v), cells: [
      [h('strong', {}, v.location.name || v.location.address), h('div', {class: 'note'}, v.location.kind, v.location.size > 0 && `, ${plural(v.location.size, 'byte')}`)],
      v.sharing, [thousands(v.counts.coherence), h('span', {class: 'note'}, ` misses, ${thousands(v.counts.upgrades)} upgrades`)],
      `${thousands(v.counts.true_sharing)} true, ${thousands(v.counts.false_sharing)} false`,
      this.some(v.sites, s => `${s.function || '??'} ${s.file ? s.file + ':' + s.line : s.pc}, ${s.op}, by ${s.threads.map(t => 'T' + t).join(' ')}`),
      h('ul', {}, v.advice.map(a => h('li', {}, a)))]}));
    return [h('p', {class: 'note'}, `${thousands(rep.machine.cache_bytes)} bytes a cache, lines of ${rep.machine.line_bytes}; magnitudes depend on the quantum.`),
      bars(['variable', 'sharing', 'coherence misses', 'of nature', 'where', 'advice'], rows),
      rep.summary.variables > rep.variables.length && h('p', {class: 'note'}, `${thousands(rep.summary.variables - rep.variables.length)} more variables: hindsight sharing --top 0`)];
  }
}
