'use strict';
/* sortable(scope) makes the tables of a part of the page that have the class "sortable" sort, and folds their end away. */
const sortable = (() => {
	const ROWS = 20;
	const fold = (table, all) => {
		const rows = [...table.tBodies[0].rows];
		let shown = 0;
		for (const row of rows) {
			const found = !row.dataset.hidden;
			row.classList.toggle('folded', !found || (!all && shown >= ROWS));
			shown += found;
		}
		return shown;
	};
	const sort = (table, column, th) => {
		const down = th.getAttribute('aria-sort') === 'descending' ||
			(!th.hasAttribute('aria-sort') && !th.classList.contains('n'));
		const rows = [...table.tBodies[0].rows];
		const key = (row) => {
			const cell = row.cells[column];
			return cell.dataset.v !== undefined ? Number(cell.dataset.v) : cell.textContent;
		};
		const sign = down ? 1 : -1;
		const numeric = th.classList.contains('n');
		rows.sort((a, b) => {
			const x = key(a), y = key(b);
			if (numeric) /* unknown ones are last in both directions */
				return typeof x !== 'number' || typeof y !== 'number' ?
					(typeof x !== 'number') - (typeof y !== 'number') : sign * (x - y);
			return sign * x.localeCompare(y, undefined, {numeric: true});
		});
		table.tBodies[0].append(...rows);
		for (const other of table.tHead.rows[0].cells)
			other.removeAttribute('aria-sort');
		th.setAttribute('aria-sort', down ? 'ascending' : 'descending');
	};
	const make = (table) => {
		let all = false;
		const more = elements.html('button', {type: 'button'});
		const line = elements.html('p', {class: 'folds'}, more);
		const refresh = () => {
			const shown = fold(table, all);
			line.hidden = shown <= ROWS;
			more.textContent = all ? 'Show the first ' + ROWS : 'Show all ' + values.count(shown);
		};
		more.addEventListener('click', () => {
			all = !all;
			refresh();
		});
		table.parentElement.after(line);
		[...table.tHead.rows[0].cells].forEach((th, column) => {
			const button = elements.html('button', {type: 'button'}, th.textContent);
			th.replaceChildren(button);
			button.addEventListener('click', () => {
				sort(table, column, th);
				refresh();
			});
		});
		table.refresh = refresh;
		refresh();
	};
	return (scope) => {
		for (const table of scope.querySelectorAll('table.sortable'))
			if (!table.refresh)
				make(table);
	};
})();
