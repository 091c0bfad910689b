/* The list of jobs: filter, tiles, table. All of its state is in the link. */
import {get, jobLink, pageLink} from './api.js';
import {choice, dash, el, empty, field, fill, known, setState, settled, state, text} from './view.js';
import {number} from './format.js';
import {columns, usual} from './columns.js';

const LIMIT = 50, AGAIN = 15000, RUNNING_AGAIN = 1500;
const filters = ['where', 'text', 'user', 'status', 'host', 'tag', 'from', 'to'];
const inputs = {};
let marked = new Set(), rows = [], at = -1, list, tiles;

const filterOf = (s) => Object.fromEntries(filters.filter((name) => known(s[name])).map((name) => [name, s[name]]));
const query = (s) => ({...filterOf(s), sort: s.sort || 'start', desc: s.sort ? s.desc : true, limit: LIMIT, after: s.after});
const shownColumns = (s) => {
	const names = s.columns ? s.columns.split(',') : usual;
	return columns.filter((c) => c.fixed || names.includes(c.name));
};
const reload = () => {
	list.reload();
	tiles.reload();
};
/* Another filter or order begins at its first page. */
const change = (changes, options) => {
	counted = null;
	setState({after: null, ...changes}, options);
	at = -1;
	reload();
};

/* ---- the filter ---- */
const bind = (name, input) => {
	inputs[name] = input;
	const take = () => change({[name]: input.value.trim()}, {replace: true});
	input.addEventListener(input.matches('select, [type="date"]') ? 'change' : 'input',
		input.matches('select, [type="date"]') ? take : settled(take));
	return input;
};
const readInputs = () => {
	const s = state();
	for (const name of filters)
		if (document.activeElement !== inputs[name])
			inputs[name].value = s[name] || '';
};
const filterForm = () => {
	const input = (type, placeholder, more) => el('input', {type, placeholder, autocomplete: 'off', spellcheck: 'false',
		...more});
	const examples = ['duration > 1h and exitcode != 0', 'tag.exp_name = ESM4 and after = -7d',
		'cpu_time > 10h or rssmax > 100G', 'process(exename ~ vasp*)', 'host ~ node1* and not user = root'];
	return el('form', {role: 'search', 'aria-label': 'Jobs', onsubmit: (e) => e.preventDefault()},
		el('div', {class: 'fields'},
			field('Filter', bind('where', input('search', 'duration > 1h and exitcode != 0', {class: 'code'})), {wide: true}),
			field('Word of the name', bind('text', input('search', ''))),
			field('User', bind('user', input('search', ''))),
			field('Status', bind('status', choice([['', 'any'], ['completed', 'completed'], ['failed', 'failed'],
				['running', 'running']], ''))),
			field('Host', bind('host', input('search', ''))),
			field('Tag', bind('tag', input('search', 'name:value'))),
			field('Started from', bind('from', input('date', ''))),
			field('to', bind('to', input('date', ''))),
			el('button', {type: 'button', onclick: () => {
				change(Object.fromEntries(filters.map((name) => [name, null])));
				document.activeElement?.blur();
				readInputs();
			}}, 'Clear')),
		el('details', {}, el('summary', {}, 'How to write a filter, and keys'),
			el('p', {}, 'A condition is a key, an operator (= != ~ !~ < <= > >=) and a value; conditions are combined by ',
				el('code', {}, 'and'), ', ', el('code', {}, 'or'), ', ', el('code', {}, 'not'),
				' and parentheses. ', el('code', {}, 'plimsoll query --keys'), ' lists the keys. Examples:'),
			el('ul', {class: 'examples'}, examples.map((e) => el('li', {}, el('a', {href: pageLink('', {where: e})},
				el('code', {}, e))))),
			el('dl', {class: 'keys'}, [['/', 'go to the filter'], ['j', 'next job'], ['k', 'previous job'],
				['Enter', 'open the job'], ['x', 'mark the job to compare it'], ['Esc', 'leave the filter']].flatMap(
				([key, does]) => [el('dt', {}, el('kbd', {}, key)), el('dd', {}, does)]))));
};

/* ---- tiles ---- */
const showTiles = (data, place) => {
	const s = state();
	const hours = (v) => v >= 100 ? number(v) : String(Number(v.toPrecision(3)));
	const tile = (label, value, {to, bad, title} = {}) => el('div', {class: 'figure', title}, el('dt', {}, label),
		el('dd', {class: bad ? 'bad' : null}, to ? el('a', {href: pageLink('', {...s, after: null, ...to})}, value) : value));
	counted = data.jobs ?? null;
	showRange();
	place.replaceChildren(el('dl', {class: 'figures'},
		tile('Jobs', number(data.jobs)),
		tile('CPU time', known(data.cpu_hours) ? hours(data.cpu_hours) + ' h' : dash),
		tile('Core use', known(data.efficiency) ? (data.efficiency * 100).toFixed(1) + ' %' : dash,
			{title: 'CPU time by the core time that was granted'}),
		tile('Energy', known(data.energy_kwh) ? values.value('Wh', data.energy_kwh * 1000) : dash,
			{title: data.energy_jobs ? 'of the ' + number(data.energy_jobs) + ' jobs whose energy is known' : null}),
		tile('Failed', number(data.failed), {to: data.failed ? {status: 'failed'} : null, bad: data.failed > 0}),
		tile('Running', number(data.running), {to: data.running ? {status: 'running'} : null})));
};

/* ---- the table ---- */
const moveTo = (i) => {
	const list = document.querySelectorAll('.joblist tbody tr');
	at = Math.max(0, Math.min(list.length - 1, i));
	list.forEach((row, k) => row.classList.toggle('at', k === at));
	list[at]?.querySelector('a')?.focus({preventScroll: true});
	list[at]?.scrollIntoView({block: 'nearest'});
};
const compareLink = () => {
	const [a, ...b] = marked;
	return pageLink('compare', {a, b: b.join(',')});
};
const showMarked = () => {
	const button = document.getElementById('compare-marked');
	button.hidden = marked.size < 2;
	button.href = marked.size > 1 ? compareLink() : '#';
	button.textContent = 'Compare ' + marked.size + ' marked jobs';
};
const mark = (job, on) => {
	marked[on ? 'add' : 'delete'](job.link || job.jobid);
	showMarked();
};
const head = (s, shown) => el('thead', {}, el('tr', {}, el('th', {scope: 'col'}, el('span', {class: 'spoken'}, 'Marked')),
	shown.map((c) => {
		const sorted = (s.sort || 'start') === c.sort && Boolean(c.sort), down = s.sort ? s.desc : true;
		const label = s.units === 'raw' && c.unit ? c.label + ' (' + c.unit + ')' : c.label;
		return el('th', {scope: 'col', class: c.n ? 'n' : null, title: c.help,
			'aria-sort': sorted ? down ? 'descending' : 'ascending' : null},
		c.sort ? el('button', {type: 'button', onclick: () => change({sort: c.sort,
			desc: sorted ? !down : Boolean(c.n || c.name === 'start')})}, label) : label);
	})));
const row = (job, shown, plain, i) => {
	const id = job.link || job.jobid;
	return el('tr', {class: i === at ? 'at' : null, onclick: (e) => {
		if (!e.target.closest('a, input, button'))
			moveTo(i);
	}, ondblclick: () => { location.href = jobLink(id); }},
	el('td', {class: 'mark'}, el('input', {type: 'checkbox', checked: marked.has(id),
		'aria-label': 'mark job ' + text(job.jobid), onchange: (e) => mark(job, e.target.checked)})),
	shown.map((c) => {
		const inside = c.cell ? c.cell(job) : c.text(job, plain) || dash;
		return el('td', {class: [c.n ? 'n' : '', c.long ? 'long' : '', c.whole ? 'whole' : '', c.id ? 'id' : ''].filter(Boolean).join(' ') || null,
			'data-label': c.bare ? null : c.label, title: c.title ? c.title(job) : c.long ? inside : null}, inside);
	}));
};
/* How many there are is known from the list where that costs nothing, else from the tiles. */
let shownRange = '', total = null, counted = null;
const showRange = () => {
	const all = total ?? counted;
	document.getElementById('range-shown').textContent = shownRange && known(all) ? shownRange + ' of ' + number(all) : shownRange;
};
const pager = (s, data) => {
	const first = (history.state?.first || 0) + 1, last = first - 1 + data.jobs.length;
	const go = (after, from) => {
		setState({after});
		history.replaceState({first: from}, '');
		at = -1;
		list.reload();
		document.getElementById('jobs').scrollIntoView({block: 'start'});
	};
	shownRange = !data.jobs.length ? '' : s.after && !history.state ? number(data.jobs.length) :
		number(first) + '\u2013' + number(last);
	total = data.total;
	showRange();
	return el('p', {class: 'bar-line'},
		s.after ? el('button', {type: 'button', onclick: () => go(null, 0)}, 'First page') : null,
		s.after ? el('button', {type: 'button', onclick: () => history.back()}, 'Previous') : null,
		data.next ? el('button', {type: 'button', id: 'next', onclick: () => go(data.next, last)}, 'Next') : null);
};
const nothing = (s) => Object.keys(filterOf(s)).length ?
	empty('No job matches.', 'Remove a condition, or widen the range of dates.') :
	empty('There are no jobs yet.', 'Record one: `plimsoll run --submit -- ./model input.nml`',
		'Import what other tools recorded: `plimsoll submit JOB.tgz`');
const showJobs = (data, place) => {
	const s = state(), shown = shownColumns(s), line = pager(s, data);
	rows = data.jobs;
	const inList = place.contains(document.activeElement);
	place.replaceChildren(rows.length ? el('div', {class: 'scroll'}, el('table', {class: 'joblist'},
		el('caption', {class: 'spoken'}, 'Jobs'), head(s, shown),
		el('tbody', {}, rows.map((job, i) => row(job, shown, s.units === 'raw', i))))) : nothing(s), line);
	inputs.where.removeAttribute('aria-invalid');
	if (inList && at >= 0)
		moveTo(at);
};

/* ---- jobs that run here and are not stored yet ---- */
let runningIds = '';
const showRunning = (jobs, place) => {
	const ids = jobs.map((job) => job.jobid).join(' ');
	if (runningIds && ids !== runningIds)
		reload(); /* one has ended, and may be in the store now */
	runningIds = ids;
	place.hidden = !jobs.length;
	place.replaceChildren(el('h2', {}, 'Running on this host'), el('ul', {class: 'inline'}, jobs.map((job) => el('li', {},
		el('span', {class: 'status running'}, el('a', {href: jobLink(job.jobid)}, text(job.jobid))),
		el('span', {class: 'dim'}, ' ' + [job.jobname, job.user].filter(Boolean).map(text).join(', '),
			known(job.start) ? ', for ' + values.duration((Date.now() - Date.parse(job.start)) * 1000) : '')))));
};

/* ---- what is above the table ---- */
const columnMenu = () => {
	const names = new Set(shownColumns(state()).map((c) => c.name));
	const box = (c) => el('label', {}, el('input', {type: 'checkbox', checked: names.has(c.name), disabled: c.fixed,
		onchange: (e) => {
			names[e.target.checked ? 'add' : 'delete'](c.name);
			const chosen = columns.filter((x) => names.has(x.name)).map((x) => x.name).join(',');
			setState({columns: chosen === usual.join(',') ? null : chosen}, {replace: true});
			list.reload();
		}}), c.label);
	return el('details', {class: 'menu'}, el('summary', {}, 'Columns'), el('div', {}, columns.map(box)));
};
const unitsButton = () => {
	const button = el('button', {type: 'button', 'aria-pressed': String(state().units === 'raw'), onclick: () => {
		const plain = state().units !== 'raw';
		button.setAttribute('aria-pressed', String(plain));
		setState({units: plain ? 'raw' : null}, {replace: true});
		list.reload();
	}}, 'Raw values');
	return button;
};
const sortChoice = () => el('div', {class: 'only-narrow'}, choice(columns.filter((c) => c.sort).map((c) =>
	[c.sort, 'by ' + c.label.toLowerCase()]), state().sort || 'start', {'aria-label': 'Sort',
	onchange: (e) => change({sort: e.target.value, desc: true})}));

const key = (e) => {
	const typing = e.target.closest('input:not([type="checkbox"]), textarea, select');
	if (e.ctrlKey || e.altKey || e.metaKey)
		return;
	if (e.key === 'Escape' && typing)
		typing.blur();
	else if (typing)
		return;
	else if (e.key === '/')
		inputs.where.focus();
	else if (e.key === 'j' || e.key === 'k')
		moveTo(at + (e.key === 'j' ? 1 : -1));
	else if (e.key === 'x' && rows[at]) {
		const box = document.querySelectorAll('.joblist tbody input')[at];
		box.checked = !box.checked;
		mark(rows[at], box.checked);
	} else if (e.key === 'Enter' && rows[at] && !e.target.closest('a, button, summary'))
		location.href = jobLink(rows[at].link);
	else
		return;
	e.preventDefault();
};

export const show = (page) => {
	const tilesPlace = el('div', {class: 'tiles', role: 'group', 'aria-label': 'Sums of these jobs'});
	const listPlace = el('div', {id: 'job-table'}), running = el('section', {id: 'running', 'aria-label': 'Running', hidden: true});
	page.replaceChildren(el('h1', {class: 'spoken'}, 'Jobs'), el('section', {id: 'filter', 'aria-label': 'Filter'}, filterForm()), tilesPlace,
		running, el('section', {id: 'jobs', 'aria-label': 'Jobs'}, el('div', {class: 'bar-line'},
			el('span', {id: 'range-shown', role: 'status', class: 'dim'}), el('span', {class: 'grow'}),
			el('a', {id: 'compare-marked', class: 'button', hidden: true, href: '#'}, ''), sortChoice(), unitsButton(),
			columnMenu()), listPlace));
	readInputs();
	showTiles({}, tilesPlace);
	list = fill(listPlace, async (signal) => {
		try {
			return await get('jobs', query(state()), signal);
		} catch (error) {
			if (error.status === 400) {
				inputs.where.setAttribute('aria-invalid', 'true');
				document.getElementById('range-shown').textContent = '';
			}
			throw error;
		}
	}, showJobs, {every: AGAIN});
	tiles = fill(tilesPlace, (signal) => get('tiles', filterOf(state()), signal), showTiles, {every: AGAIN, quiet: true, echo: true});
	fill(running, (signal) => get('running', {}, signal), showRunning, {every: RUNNING_AGAIN, quiet: true});
	addEventListener('keydown', key);
	addEventListener('popstate', () => {
		readInputs();
		reload();
	});
	addEventListener('click', (e) => {
		for (const menu of document.querySelectorAll('details.menu[open]'))
			if (!menu.contains(e.target))
				menu.open = false;
	});
};
