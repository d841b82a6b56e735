/* What a document shows, measured by the browser; check.py judges it. Lengths in CSS pixels. */
'use strict';
const SHAPES = 'rect, path, line, polyline, polygon, circle, ellipse';

function round(box) {
  return [box.left, box.top, box.right, box.bottom].map(value => Math.round(value * 10) / 10);
}

function rgba(text) {
  const parts = (text.match(/[\d.]+/g) || []).map(Number);
  return text === 'transparent' || text === 'none' || parts.length < 3 ? [0, 0, 0, 0] : [...parts, 1].slice(0, 4);
}

function isSvg(element) {
  return element.namespaceURI.endsWith('/svg');
}

/* The paint of an element at a point that it covers: [r, g, b, a]. */
function paint(element) {
  const style = getComputedStyle(element);
  if (!isSvg(element) || element.localName === 'svg')
    return rgba(style.backgroundColor);
  const fill = rgba(style.fill);
  fill[3] *= Number(style.fillOpacity) * Number(style.opacity);
  return element.matches(SHAPES) ? fill : [0, 0, 0, 0];
}

/* The first opaque thing behind the middle of a box, texts left out; null outside of the window. What is behind the body
 * has the body's colour. */
function behind(box) {
  const x = (box.left + box.right) / 2, y = (box.top + box.bottom) / 2;
  if (x < 0 || y < 0 || x >= innerWidth || y >= innerHeight)
    return null;
  for (const element of [...document.elementsFromPoint(x, y), document.documentElement, document.body].filter(e => e)) {
    const color = paint(element);
    if (color[3] > 0.95)
      return color;
  }
  return matchMedia('(prefers-color-scheme:dark)').matches ? [18, 18, 18, 1] : [255, 255, 255, 1];
}

/* The box that must contain a text: its nearest block, or for a text in a picture the picture's block. */
function boxOf(element) {
  const outer = isSvg(element) ? element.closest('svg') : element;
  let box = outer;
  if (isSvg(element) && outer.parentElement)
    box = outer.parentElement;
  while (!isSvg(box) && getComputedStyle(box).display === 'inline')
    box = box.parentElement;
  return box.getBoundingClientRect();
}

/* The nearest element that clips its contents and cannot be scrolled. */
function clipOf(element) {
  for (let at = element; at; at = at.parentElement)
    if (!isSvg(at) && /hidden|clip/.test(getComputedStyle(at).overflow))
      return round(at.getBoundingClientRect());
  return null;
}

const probe = {
  texts() {
    const found = [], walker = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode, element = node.parentElement;
      if (!node.data.trim() || element.closest('title, style, script, desc, head'))
        continue;
      const range = document.createRange(), style = getComputedStyle(element);
      range.selectNodeContents(node);
      const lines = Array.from(range.getClientRects()).filter(line => line.width > 0);
      const matrix = isSvg(element) ? element.getScreenCTM() : null;
      found.push({text: node.data.trim().slice(0, 60), lines: lines.map(round), box: round(boxOf(element)), clip: clipOf(element),
                  seen: lines.length > 0 && style.visibility === 'visible' && Number(style.opacity) > 0,
                  size: parseFloat(style.fontSize) * (matrix ? Math.min(matrix.a, matrix.d) : 1),
                  color: rgba(isSvg(element) ? style.fill : style.color), behind: lines.length ? behind(lines[0]) : null});
    }
    return found;
  },

  page() {
    const root = document.documentElement;
    return {inner: innerWidth, scroll: root.scrollWidth, body: document.body ? document.body.scrollWidth : root.scrollWidth,
            height: Math.ceil(root.getBoundingClientRect().height), paper: behind({left: 2, right: 2, top: 2, bottom: 2}),
            words: document.body ? document.body.innerText.split(/\s+/).filter(word => word).join(' ') : '',
            buttons: document.querySelectorAll('button, input, select').length,
            outside: Array.from(document.querySelectorAll('[src], [href], [srcset], object, iframe, form'), e => e.outerHTML.slice(0, 80))};
  },

  plots() {
    return Array.from(document.querySelectorAll('svg')).filter(svg => !svg.parentElement || !svg.parentElement.closest('svg')).map(svg => {
      const shapes = Array.from(svg.querySelectorAll(SHAPES), shape => {
        const style = getComputedStyle(shape), stroke = rgba(style.stroke);
        const fill = paint(shape), painted = fill[3] > 0 || (stroke[3] > 0 && parseFloat(style.strokeWidth) > 0);
        return {kind: shape.localName, class: shape.getAttribute('class'), box: round(shape.getBoundingClientRect()),
                painted, fill, title: shape.querySelector('title') ? shape.querySelector('title').textContent : null};
      });
      const row = svg.closest('.bars li');
      return {box: round(svg.getBoundingClientRect()), shapes, texts: svg.querySelectorAll('text').length,
              image: svg.getAttribute('role') === 'img', titles: Array.from(svg.querySelectorAll('title'), t => t.textContent),
              value: row ? row.querySelector('.value').textContent : null,
              group: row ? Array.from(document.querySelectorAll('.bars')).indexOf(row.parentElement) : null};
    });
  },

  tables() {
    return Array.from(document.querySelectorAll('table'), table => ({
      name: (table.closest('[aria-labelledby]') || table).getAttribute('aria-labelledby'),
      sorts: table.classList.contains('sorts'),
      headings: Array.from(table.tHead.rows[0].cells, cell => ({
        text: cell.textContent, number: cell.classList.contains('n'), sort: cell.getAttribute('aria-sort'),
        button: Boolean(cell.querySelector('button'))})),
      rows: Array.from(table.tBodies[0].rows, row => Array.from(row.cells, cell => cell.textContent))}));
  },

  /* Types words into the first filter. Returns the numbers of rows before and after; null: no table has a filter. */
  filter(words) {
    const field = document.querySelector('.filter');
    if (!field)
      return null;
    const own = Array.from(field.nextElementSibling.querySelectorAll('tbody tr'));
    const type = function (text) {
      field.value = text;
      field.dispatchEvent(new Event('input'));
      return own.filter(row => !row.hidden).length;
    };
    return {left: type(words), rows: own.length, back: type(''),
            matching: own.filter(row => words.toLowerCase().split(' ').every(word => row.textContent.toLowerCase().includes(word))).length};
  },

  /* Brings a heading into view; its middle, in pixels of the window. */
  heading(table, column) {
    const cell = document.querySelectorAll('table')[table].tHead.rows[0].cells[column];
    cell.scrollIntoView({block: 'nearest', inline: 'nearest'});
    const box = (cell.querySelector('button') || cell).getBoundingClientRect();
    return [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
  },

  /* Moves the focus there as Tab does; false if nothing there takes it. */
  focus(table, column) {
    const cell = document.querySelectorAll('table')[table].tHead.rows[0].cells[column];
    const target = cell.querySelector('button, [tabindex]') || cell;
    target.focus();
    return document.activeElement === target && target.tabIndex >= 0;
  }
};
