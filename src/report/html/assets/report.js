'use strict';
/*
 * What the other scripts of the page share: the report's data, numbers and times as people read
 * them, the box under the pointer; and the theme, tables that sort, the search. All text goes into
 * the page as text, never as markup.
 */
const page = (() => {
	const block = document.getElementById('report-data');
	const data = JSON.parse(block.textContent);
	const begin = Number(block.dataset.begin), end = Number(block.dataset.end);
	const zone = block.dataset.zone.split(',').map(Number);

	/* ---- elements ---- */
	const SVG = 'http://www.w3.org/2000/svg';
	const svg = (name, attributes, text) => {
		const e = document.createElementNS(SVG, name);
		for (const key in attributes)
			e.setAttribute(key, attributes[key]);
		if (text !== undefined)
			e.textContent = text;
		return e;
	};
	const html = (name, attributes, ...inside) => {
		const e = document.createElement(name);
		for (const key in attributes)
			e.setAttribute(key, attributes[key]);
		e.append(...inside);
		return e;
	};
	/* As the tables of the page show them: nothing hidden, nothing that turns the direction. */
	const visible = (text) => String(text ?? '').replace(
		/[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
		(c) => c === '\n' ? '\\n' : c === '\t' ? '\\t' :
			(c < '\x80' ? '\\x' + c.charCodeAt(0).toString(16).padStart(2, '0') :
				'\\u' + c.charCodeAt(0).toString(16).padStart(4, '0')));
	const base = (path) => visible(path).replace(/^.*\/(?=.)/, '');
	const shorten = (text, n) => text.length > n ? text.slice(0, n - 1) + '\u2026' : text;

	/* ---- numbers ---- */
	const digits = (v) => {
		const size = Math.abs(v);
		if (size >= 999.5)
			return Math.round(v).toString().replace(/\B(?=(\d{3})+$)/g, ',');
		if (size >= 99.95)
			return v.toFixed(0);
		return size < 1e-12 ? '0' : String(Number(v.toPrecision(3)));
	};
	const count = (v) => v == null ? '\u2013' : Math.round(v).toString().replace(/\B(?=(\d{3})+$)/g, ',');
	const two = (v) => String(v).padStart(2, '0');
	const duration = (us) => {
		if (us == null)
			return '\u2013';
		const s = us / 1e6;
		if (s < 0)
			return '-' + duration(-us);
		if (s === 0)
			return '0 s';
		if (s < 0.0009995)
			return digits(s * 1e6) + ' us';
		if (s < 0.9995)
			return digits(s * 1e3) + ' ms';
		if (s < 99.95)
			return digits(s) + ' s';
		if (s < 3600)
			return Math.floor(s / 60) + ' min ' + two(Math.floor(s) % 60) + ' s';
		if (s < 86400)
			return Math.floor(s / 3600) + ' h ' + two(Math.floor(s / 60) % 60) + ' min';
		return Math.floor(s / 86400) + ' d ' + two(Math.floor(s / 3600) % 24) + ' h';
	};
	/* unit: [factor, symbol, kind, begins at 0]; as in plot/unit_scale.c */
	const known = {
		'': [1, '', 'd', 1], '%': [1, '%', 'p', 1], '1/s': [1, '/s', 'd', 1],
		'512 bytes': [512, 'B', 'b', 1], 'A': [1, 'A', 'd', 1], 'CPUs': [1, 'CPUs', 'p', 1],
		'Hz': [1, 'Hz', 'd', 0], 'J': [1, 'J', 'd', 1], 'J/s': [1, 'W', 'd', 1],
		'KiB': [1024, 'B', 'b', 1], 'V': [1, 'V', 'p', 0], 'W': [1, 'W', 'd', 1],
		'bytes': [1, 'B', 'b', 1], 'count': [1, '', 'd', 1], 'count/s': [1, '/s', 'd', 1],
		'cycles': [1, 'cycles', 'd', 1], 'degC': [1, '\u00b0C', 'p', 0],
		'ns': [1e-9, 's', 's', 1], 'ns/s': [1e-9, 's/s', 'p', 1], 'ratio': [1, '', 'p', 1],
		'rpm': [1, 'rpm', 'p', 0], 'us': [1e-6, 's', 's', 1], 'us/s': [1e-6, 's/s', 'p', 1],
	};
	const scaleOf = (unit, largest) => {
		let rate = '', k = known[unit];
		if (!k && unit.endsWith('/s') && (k = known[unit.slice(0, -2)]))
			rate = '/s';
		k = k || [1, visible(unit).slice(0, 20), 'd', 1];
		let [factor, symbol, kind] = k, size = Math.abs(largest) * factor;
		let prefix = '';
		if (kind === 's' && !rate) {
			const spans = [[7200, 1 / 3600, 'h'], [120, 1 / 60, 'min'], [0.9995, 1, 's'],
				[0.0009995, 1e3, 'ms'], [0, 1e6, 'us']];
			const s = spans.find((x) => size >= x[0]) || spans[4];
			return {factor: factor * s[1], symbol: s[2], zero: true};
		}
		const by = kind === 'b' ? 1024 : 1000;
		const names = kind === 'b' ? ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'] :
			['', 'k', 'M', 'G', 'T', 'P', 'E'];
		for (let i = 0; kind !== 'p' && size >= by * 0.9995 && i < 6; i++) {
			size /= by;
			factor /= by;
			prefix = names[i + 1];
		}
		return {factor, symbol: prefix + symbol + rate, zero: Boolean(k[3])};
	};
	const behind = (symbol) => !symbol || /^[%/]/.test(symbol) ? symbol : ' ' + symbol;
	const value = (unit, v) => {
		if (v == null || !Number.isFinite(v))
			return 'unknown';
		const s = scaleOf(unit, v);
		return digits(v * s.factor) + behind(s.symbol);
	};
	const bytes = (v) => v == null ? '\u2013' : value('bytes', v);

	/* ---- times: local to the machine that wrote the page ---- */
	const offsetAt = (us) => (zone.length > 1 && us >= zone[1] ? zone[2] : zone[0]) * 1e6;
	const clock = (us, step) => {
		const local = us + offsetAt(us), d = new Date(Math.floor(local / 1000));
		const iso = d.toISOString();
		let text = step >= 86400e6 ? iso.slice(5, 10) : step >= 60e6 ? iso.slice(11, 16) :
			iso.slice(11, 19);
		if (step < 1e6) {
			const n = Math.min(6, Math.max(1, 6 - Math.floor(Math.log10(step) + 1e-9)));
			text += '.' + String(Math.floor(((local % 1e6) + 1e6) % 1e6)).padStart(6, '0').slice(0, n);
		}
		return end - begin > 86400e6 && step < 86400e6 ? iso.slice(5, 10) + ' ' + text : text;
	};

	/* ---- the box under the pointer ---- */
	const tip = html('div', {id: 'tip', role: 'status', hidden: ''});
	const showTip = (content, x, y) => {
		tip.replaceChildren(...content);
		tip.hidden = false;
		const w = tip.offsetWidth, h = tip.offsetHeight;
		const left = x + 16 + w > innerWidth ? x - 16 - w : x + 16;
		const top = y + 16 + h > innerHeight ? y - 16 - h : y + 16;
		tip.style.left = Math.max(4, Math.min(left, innerWidth - w - 4)) + 'px';
		tip.style.top = Math.max(4, top) + 'px';
	};
	const hideTip = () => { tip.hidden = true; };
	/* rows: [class of the key, name, value] */
	const tipTable = (title, rows) => [html('b', {}, title), html('table', {},
		...rows.map(([key, name, v]) => html('tr', {},
			html('td', {class: key ? 'key ' + key : ''}, name), html('td', {class: 'n'}, v))))];

	document.body.append(tip);
	return {data, begin, end, svg, html, visible, base, shorten, digits, count, duration, scaleOf,
		behind, value, bytes, offsetAt, clock, showTip, hideTip, tipTable, listeners: [],
		search: ''};
})();

/* ---- light and dark ---- */
(() => {
	const root = document.documentElement;
	const button = page.html('button', {id: 'theme', type: 'button'});
	const dark = () => root.dataset.theme ? root.dataset.theme === 'dark' :
		matchMedia('(prefers-color-scheme: dark)').matches;
	const label = () => {
		button.textContent = dark() ? 'Light' : 'Dark';
		button.setAttribute('aria-label', dark() ? 'use light colours' : 'use dark colours');
	};
	try { /* pages from a file may have no storage */
		const kept = localStorage.getItem('plimsoll-theme');
		if (kept === 'dark' || kept === 'light')
			root.dataset.theme = kept;
	} catch (e) { /* the theme of the system it is */ }
	button.addEventListener('click', () => {
		root.dataset.theme = dark() ? 'light' : 'dark';
		try {
			localStorage.setItem('plimsoll-theme', root.dataset.theme);
		} catch (e) { /* then it is not kept */ }
		label();
	});
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', label);
	label();
	document.getElementById('top').append(button);
	root.classList.add('live');
})();

/* ---- tables ---- */
(() => {
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
	for (const table of document.querySelectorAll('table.sortable')) {
		let all = false;
		const more = page.html('button', {type: 'button'});
		const line = page.html('p', {class: 'folds'}, more);
		const refresh = () => {
			const shown = fold(table, all);
			line.hidden = shown <= ROWS;
			more.textContent = all ? 'Show the first ' + ROWS : 'Show all ' + page.count(shown);
		};
		more.addEventListener('click', () => {
			all = !all;
			refresh();
		});
		table.parentElement.after(line);
		[...table.tHead.rows[0].cells].forEach((th, column) => {
			const button = page.html('button', {type: 'button'}, th.textContent);
			th.replaceChildren(button);
			button.addEventListener('click', () => {
				sort(table, column, th);
				refresh();
			});
		});
		table.refresh = refresh;
		refresh();
	}
})();

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
	for (const section of document.querySelectorAll('main > section'))
		observer.observe(section);
})();
