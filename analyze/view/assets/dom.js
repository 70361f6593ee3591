// Elements. Whatever comes from a trace becomes text, never markup.

// h makes an element. Attributes: class, title and the like as they are; on is
// an object of listeners, style one of properties.
function h(tag, attrs, ...children) {
  const el = document.createElement(tag);
  set(el, attrs, children);
  return el;
}

// svg makes an element of a drawing.
function svg(tag, attrs, ...children) {
  const el = document.createElementNS('http://www.w3.org/2000/svg', tag);
  set(el, attrs, children);
  return el;
}

function set(el, attrs, children) {
  for (const [name, value] of Object.entries(attrs || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'on') {
      for (const [type, f] of Object.entries(value)) el.addEventListener(type, f);
    } else if (name === 'style') {
      for (const [property, v] of Object.entries(value)) el.style.setProperty(property, v);
    } else if (name === 'href' && !String(value).startsWith('#')) {
      continue; // links stay in the page
    } else {
      el.setAttribute(name, value === true ? '' : String(value));
    }
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    el.append(child instanceof Node ? child : document.createTextNode(shown(child)));
  }
}

// shown is a text without the characters that turn the direction of writing or
// cannot be seen: a name could lie with them.
function shown(text) {
  return String(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g, '\ufffd');
}

function replace(el, ...children) {
  el.replaceChildren();
  set(el, null, children);
  return el;
}

// message shows that something is not there.
function message(text) { return h('p', {class: 'message'}, text); }

// soon shows what a promise gives, in its place.
function soon(promise, show) {
  const box = h('div', {class: 'soon'}, h('p', {class: 'message'}, '…'));
  promise.then(x => replace(box, show(x)), e => replace(box, message(e.message)));
  return box;
}

// centre scrolls a box so that an element in it is in its middle, and its left
// edge in sight.
function centre(box, el) {
  box.scrollLeft = 0;
  box.scrollTop += el.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight / 2;
}

// VirtualList shows the rows in sight of a list of any length, all of one height.
class VirtualList {
  constructor(row, rowHeight, choose) {
    this.row = row;
    this.rowHeight = rowHeight;
    this.choose = choose;
    this.items = [];
    this.at = -1;
    this.spacer = h('div', {class: 'spacer'});
    this.el = h('div', {class: 'list', tabindex: '0', role: 'listbox', on: {
      scroll: () => this.draw(), keydown: e => this.key(e),
    }}, this.spacer);
    new ResizeObserver(() => this.draw()).observe(this.el);
  }

  show(items, at) {
    this.items = items;
    this.at = at;
    this.spacer.style.height = items.length * this.rowHeight + 'px';
    if (at < 0) this.el.scrollTop = 0;
    this.reveal();
    this.draw();
  }

  reveal() {
    if (this.at < 0) return;
    const top = this.at * this.rowHeight, height = this.el.clientHeight;
    if (top < this.el.scrollTop) this.el.scrollTop = top;
    else if (top + this.rowHeight > this.el.scrollTop + height) this.el.scrollTop = top + this.rowHeight - height;
  }

  draw() {
    const first = Math.max(0, Math.floor(this.el.scrollTop / this.rowHeight) - 4);
    const last = Math.min(this.items.length, first + Math.ceil(this.el.clientHeight / this.rowHeight) + 8);
    const rows = [];
    for (let i = first; i < last; i++) {
      const el = this.row(this.items[i]);
      el.setAttribute('role', 'option');
      el.setAttribute('aria-selected', String(i === this.at));
      el.style.top = i * this.rowHeight + 'px';
      el.style.height = this.rowHeight + 'px';
      el.addEventListener('click', () => { this.at = i; this.draw(); this.choose(this.items[i]); });
      rows.push(el);
    }
    this.spacer.replaceChildren(...rows);
  }

  move(by) {
    if (!this.items.length) return;
    const at = Math.min(this.items.length - 1, Math.max(0, this.at + by));
    if (at === this.at) return;
    this.at = at;
    this.reveal();
    this.draw();
    this.choose(this.items[at]);
  }

  key(e) {
    const page = Math.max(1, Math.floor(this.el.clientHeight / this.rowHeight) - 1);
    const by = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.items.length, End: this.items.length}[e.key];
    if (!by) return;
    e.preventDefault();
    this.move(by);
  }
}
