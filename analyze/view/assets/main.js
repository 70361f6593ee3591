// Tabs, deep links and keys.

const tabs = {races: 'Races', timeline: 'Timeline', source: 'Source', slice: 'Slice', sharing: 'Sharing', run: 'Run'};

class RunView {
  constructor() {
    this.el = h('section', {class: 'run'}, h('table', {}, h('tbody', {}, head.facts.map(f => h('tr', {}, h('th', {scope: 'row'}, f.name), h('td', {}, f.value))))));
  }
  show() {}
}

const makers = {races: () => new RacesView(), timeline: () => new TimelineView(), source: () => new SourceView(), slice: () => new SliceView(), sharing: () => new SharingView(), run: () => new RunView()};
const views = {};
const main = h('main', {});
const nav = h('nav', {class: 'tabs', 'aria-label': 'parts'});
const keys = [['1 … 9', 'the tabs in order'], ['j k', 'next, previous race'], ['/', 'filter by variable'], ['+ -', 'timeline: zoom'], ['← → 0', 'timeline: earlier, later, all'], ['n p', 'timeline: next, previous race'], ['?', 'this list'], ['Esc', 'close it']];
const help = h('dialog', {class: 'help'}, h('h2', {}, 'Keys'), h('table', {}, h('tbody', {}, keys.map(([k, what]) => h('tr', {}, h('th', {scope: 'row'}, h('kbd', {}, k)), h('td', {}, what))))),
  h('form', {method: 'dialog'}, h('button', {}, 'Close')));

// go opens what a deep link names.
function go(link) {
  if (location.hash === '#' + link) route();
  else location.hash = link;
}

// stay makes a link the address of what is shown already.
function stay(link) {
  history.replaceState(null, '', '#' + link);
  main.dataset.ready = location.hash;
}

// route shows what the address names: #R3, #source/PATH:LINE, #races.
async function route() {
  const link = location.hash.slice(1);
  const [name, rest] = link.includes('/') ? [link.slice(0, link.indexOf('/')), link.slice(link.indexOf('/') + 1)] : [link, ''];
  try {
    if (/^R\d+$/.test(link)) return await open('races', link);
    if (name === 'source' && rest) {
      const colon = rest.lastIndexOf(':');
      return await open('source', decodeURIComponent(colon < 0 ? rest : rest.slice(0, colon)), colon < 0 ? 0 : Number(rest.slice(colon + 1)));
    }
    await open(head.parts.includes(name) ? name : head.parts[0], decodeURIComponent(rest));
  } catch (e) {
    replace(main, message(e.message));
  }
}

async function open(name, ...args) {
  main.dataset.part = name;
  if (!head.parts.includes(name)) throw new Error(`There is nothing under ${tabs[name] || name}.`);
  views[name] = views[name] || makers[name]();
  for (const a of nav.children) {
    if (a.dataset.part === name) a.setAttribute('aria-current', 'page');
    else a.removeAttribute('aria-current');
  }
  if (main.firstChild !== views[name].el) replace(main, views[name].el);
  delete main.dataset.ready;
  await views[name].show(...args);
  main.dataset.ready = location.hash;
}

function onKey(e) {
  if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) {
    if (e.key === 'Escape') e.target.blur();
    return;
  }
  const view = views[main.dataset.part];
  if (/^[1-9]$/.test(e.key) && head.parts[e.key - 1]) go(head.parts[e.key - 1]);
  else if (e.key === 'j' || e.key === 'k') view.move?.(e.key === 'j' ? 1 : -1);
  else if (e.key === '/') main.querySelector('input[type=search]')?.focus();
  else if (e.key === '?') help.showModal();
  else if (!view.key?.(e)) return;
  e.preventDefault();
}

document.body.append(h('header', {}, h('h1', {}, head.title), nav, h('button', {class: 'keys', title: 'keys', on: {click: () => help.showModal()}}, '?')), main, help);
replace(nav, head.parts.map(name => h('a', {href: '#' + name, 'data-part': name}, tabs[name])));
window.addEventListener('hashchange', route);
document.addEventListener('keydown', onKey);
route();
