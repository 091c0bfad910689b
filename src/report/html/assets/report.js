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

	/* ---- numbers: the rules of core/text/units.c ---- */
	const count = (v) => v == null ? '\u2013' : Math.round(v).toString().replace(/\B(?=(\d{3})+$)/g, ',');
	const digits = (v) => Math.abs(v) >= 999.5 || v === 0 ? v.toFixed(0) : String(Number(v.toPrecision(3)));
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
	const powers = (names, by, from) => names.map((name, i) => [name, by ** (i + from)]);
	const binary = powers(['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'], 1024, 0);
	const decimal = powers(['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P'], 1000, -3);
	const thousands = powers(['', 'k', 'M', 'G', 'T', 'P'], 1000, 0);
	const times = [['ns', 1e-9], ['us', 1e-6], ['ms', 1e-3], ['s', 1], ['min', 60], ['h', 3600], ['d', 86400]];
	const seconds = powers(['ns', 'us', 'ms', 's', 'ks', 'Ms'], 1000, -3);
	const plain = [['', 1]];
	/* unit: [factor, prefixes, base, floating] */
	const known = {
		'bytes': [1, binary, ''], 'KiB': [1024, binary, ''], '512 bytes': [512, binary, ''],
		'us': [1e-6, times, ''], 'ns': [1e-9, times, ''], 's': [1, times, ''],
		'count': [1, thousands, ''], '1': [1, thousands, ''], 'cycles': [1, thousands, 'cycles'],
		'CPUs': [1, plain, 'CPUs'], '%': [1, plain, '%'], 'ratio': [1, plain, ''],
		'degC': [1, plain, '\u00b0C', true], 'J/s': [1, decimal, 'W'], 'Wh': [1, decimal, 'Wh'],
		'W': [1, decimal, 'W'], 'J': [1, decimal, 'J'], 'g': [1, decimal, 'g'], 'Hz': [1, decimal, 'Hz', true],
		'V': [1, decimal, 'V', true], 'A': [1, decimal, 'A'], 'rpm': [1, plain, 'rpm', true],
	};
	const unitOf = (unit) => {
		const rate = !Object.hasOwn(known, unit) && unit.endsWith('/s');
		const name = rate ? unit.slice(0, -2) : unit;
		const k = Object.hasOwn(known, name) ? known[name] : [1, thousands, visible(name).slice(0, 20)];
		const prefixes = rate && k[1] === times ? seconds : k[1];
		return {factor: k[0], prefixes, base: k[2] + (rate ? '/s' : ''), floating: Boolean(k[3]) && !rate,
			clock: prefixes === times, binary: prefixes === binary};
	};
	/* The place of the largest prefix that leaves at least 1. */
	const prefixFor = (u, v) => {
		const size = Math.abs(v) * (1 + 1e-9), p = u.prefixes;
		let i = 0;
		if (size === 0)
			while (p[i][1] < 1)
				i++;
		else
			while (i + 1 < p.length && size >= p[i + 1][1])
				i++;
		return u.clock && p[i][1] >= 60 && size < 2 * p[i][1] ? i - 1 : i;
	};
	const symbol = (u, i) => {
		const name = u.prefixes[i][0], word = u.prefixes === thousands && u.base && u.base[0] !== '/';
		return name || u.base ? ' ' + name + (word && name ? ' ' : '') + u.base : '';
	};
	const value = (unit, v) => {
		if (v == null || !Number.isFinite(v))
			return '-';
		const u = unitOf(unit), base = v * u.factor;
		let i = prefixFor(u, base);
		if (i + 1 < u.prefixes.length && !u.clock && Math.abs(base) >= u.prefixes[i + 1][1] * 0.9995)
			i++;
		return digits(base / u.prefixes[i][1]) + symbol(u, i);
	};
	/* As linear_axis() of plot/plot_axis.c: {low, high, ticks: [[value, label], ...]}. */
	const roundStep = (v) => {
		const power = 10 ** Math.floor(Math.log10(v)), m = v / power;
		return power * (m <= 1.03 ? 1 : m <= 2.06 ? 2 : m <= 5.15 ? 5 : 10);
	};
	const clockStep = (v, factor) => (v > 0.5 && (factor === 60 ? [1, 2, 5, 10, 15, 30, 60] : [1, 2, 3, 6, 12, 24])
		.find((s) => v <= s * 1.0000001)) || roundStep(v);
	const axis = (low, high, unit, about) => {
		const u = unitOf(unit);
		if (low > 0 && !(u.floating && low > high / 2))
			low = 0;
		if (high < 0)
			high = 0;
		if (high - low < Math.abs(high) * 1e-9 || high === low) {
			high = high > 0 ? high * 1.0001 : high + 1;
			low = low > 0 ? low * 0.9999 : low;
		}
		const most = Math.max(Math.abs(high), Math.abs(low)) * u.factor;
		let i = prefixFor(u, most);
		if (!u.binary && !u.clock && u.prefixes[i][1] > 1 && most < 2 * u.prefixes[i][1])
			i--;
		const factor = u.prefixes[i][1], one = factor / u.factor, want = (high - low) / one / about;
		const step = u.clock && (factor === 60 || factor === 3600) ? clockStep(want, factor) : roundStep(want);
		const first = Math.floor(low / one / step + 0.02), last = Math.ceil(high / one / step - 0.02);
		const places = step >= 1 ? 0 : Math.min(9, Math.ceil(-Math.log10(step) - 1e-9));
		const ticks = [];
		for (let k = first; k <= last && ticks.length < 64; k++)
			ticks.push([k * step * one, k ? (k * step).toFixed(places) + symbol(u, i) : '0']);
		return {low: first * step * one, high: last * step * one, ticks};
	};
	const bytes = (v) => v == null ? '\u2013' : value('bytes', v);

	/* ---- times: local to the machine that wrote the page ---- */
	const offsetAt = (us) => (zone.length > 1 && us >= zone[1] ? zone[2] : zone[0]) * 1e6;
	/* day: with the day in front, where the page has more than one */
	const clock = (us, step, day = true) => {
		const local = us + offsetAt(us), d = new Date(Math.floor(local / 1000));
		const iso = d.toISOString();
		let text = step >= 86400e6 ? iso.slice(5, 10) : step >= 60e6 ? iso.slice(11, 16) :
			iso.slice(11, 19);
		if (step < 1e6) {
			const n = Math.min(6, Math.max(1, 6 - Math.floor(Math.log10(step) + 1e-9)));
			text += '.' + String(Math.floor(((local % 1e6) + 1e6) % 1e6)).padStart(6, '0').slice(0, n);
		}
		return day && end - begin > 86400e6 && step < 86400e6 ? iso.slice(5, 10) + ' ' + text : text;
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
	return {data, begin, end, svg, html, visible, base, shorten, count, duration, value, axis,
		bytes, offsetAt, clock, showTip, hideTip, tipTable, listeners: [],
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
