'use strict';
/*
 * What the other scripts of a report share: its data, times, and the search of executables. The server runs the scripts of
 * a report again whenever a running job has a new one: hence var.
 */
var page = (() => {
	const block = document.getElementById('report-data');
	const data = JSON.parse(block.textContent);
	const begin = Number(block.dataset.begin), end = Number(block.dataset.end);
	const zone = block.dataset.zone.split(',').map(Number);

	page?.ended.abort(); /* the listeners of the one before, which hold its data */
	/* times are local to the machine that wrote the page */
	return {...values, ...elements, data, ...values.span(begin, end, zone), listeners: [], search: '',
		ended: new AbortController()};
})();

sortable(document);

/* ---- the search of executables: in the table, the tree and over time ---- */
(() => {
	const table = document.getElementById('executables-table');
	if (!table)
		return;
	const input = page.html('input', {type: 'search', id: 'search', placeholder: 'part of a name',
		autocomplete: 'off', spellcheck: 'false'});
	const found = page.html('span', {class: 'dim', role: 'status'});
	table.parentElement.before(page.html('div', {class: 'tools'},
		page.html('label', {for: 'search'}, 'Search'), input, found));
	input.addEventListener('input', () => {
		const word = input.value.toLowerCase();
		let n = 0;
		for (const row of table.tBodies[0].rows) {
			const hit = row.cells[0].textContent.toLowerCase().includes(word);
			n += hit;
			if (hit)
				delete row.dataset.hidden;
			else
				row.dataset.hidden = '1';
		}
		found.textContent = word ? page.count(n) + ' found; also marked in the charts above' : '';
		page.search = word;
		table.refresh();
		for (const f of page.listeners)
			f();
	});
})();

/* ---- the data, for other programs ---- */
(() => {
	const save = page.html('button', {type: 'button', id: 'save'}, 'Save the data as JSON');
	save.addEventListener('click', () => {
		const text = document.getElementById('report-data').textContent;
		const url = URL.createObjectURL(new Blob([text], {type: 'application/json'}));
		const name = 'report-' + String(page.data.job.jobid || 'job').replace(/[^\w.-]+/g, '_') + '.json';
		page.html('a', {href: url, download: name}).click();
		setTimeout(() => URL.revokeObjectURL(url), 10000);
	});
	document.getElementById('about').append(page.html('p', {class: 'tools'}, save));
})();

/* ---- the section that is being read ---- */
(() => {
	const links = new Map();
	for (const a of document.querySelectorAll('#contents a'))
		links.set(a.hash.slice(1), a);
	const seen = new Set();
	const observer = new IntersectionObserver((entries) => {
		for (const e of entries)
			e.isIntersecting ? seen.add(e.target.id) : seen.delete(e.target.id);
		let first = true;
		for (const [id, a] of links) {
			a.classList.toggle('here', first && seen.has(id));
			first = first && !seen.has(id);
		}
	}, {rootMargin: '-5% 0px -60% 0px'});
	for (const id of links.keys())
		observer.observe(document.getElementById(id));
})();
