/* Headings of tables become buttons that sort: numbers largest first, texts
 * from A on, and the other way round when pressed again. Cells without a value stay last. Without scripts the tables are as they were written. */
'use strict';
document.querySelectorAll('table.sorts').forEach(function (table) {
  const body = table.tBodies[0], headings = Array.from(table.tHead.rows[0].cells);

  function key(row, column) {
    const cell = row.cells[column];
    return 'v' in cell.dataset ? Number(cell.dataset.v || -1) : cell.textContent;
  }

  function compare(a, b) {
    return typeof a === 'string' ? a.localeCompare(b, 'en', {numeric: true}) : a - b;
  }

  function sort(heading) {
    const column = heading.cellIndex, number = heading.classList.contains('n');
    const before = heading.getAttribute('aria-sort');
    const up = before ? before === 'descending' : !number;
    const none = function (value) { return number ? value < 0 : value === '-'; };
    const rows = Array.from(body.rows, function (row) { return {row: row, key: key(row, column)}; });
    rows.sort(function (a, b) {
      if (none(a.key) || none(b.key))
        return none(a.key) - none(b.key);
      return up ? compare(a.key, b.key) : compare(b.key, a.key);
    });
    headings.forEach(function (other) { other.removeAttribute('aria-sort'); });
    heading.setAttribute('aria-sort', up ? 'ascending' : 'descending');
    body.append(...rows.map(function (item) { return item.row; }));
  }

  headings.forEach(function (heading) {
    const button = document.createElement('button');
    button.type = 'button';
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener('click', function () { sort(heading); });
  });
});
