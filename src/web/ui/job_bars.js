/* Jobs over time: a row for each value of a tag, in it a bar for each job. */
import {jobLink, pageLink} from './api.js';
import {dash, el, empty, field, fill, known, panel, setState, state, table, text} from './view.js';
import {amount, microseconds, number, outcome, shortTime} from './format.js';
import {ids, quoted} from './job_links.js';
import {newest} from './newest.js';
import {barPlace, openCharts} from './over_time.js';

const LANE = 14, THIN = 5, THICK_LANES = 120, ROWS = 60; /* pixels, lanes, rows */
const own = {user: (job) => job.user, name: (job) => job.jobname, host: (job) => job.hosts?.[0], status: (job) => outcome(job)[0]};
const valueOf = (by, job) => (Object.hasOwn(own, by) ? own[by](job) : job.tags?.[by]) ?? null;
/* The tag that most jobs have. */
const usualTag = (jobs) => {
	const counts = new Map();
	for (const job of jobs)
		for (const tag of Object.keys(job.tags || {}))
			counts.set(tag, (counts.get(tag) || 0) + 1);
	return counts.has('exp_component') ? 'exp_component' : [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] || 'user';
};

/* Bars in rows, and in each row in as many lanes as it takes: {rows: [{value, jobs, from, lanes}], bars, lanes} */
const arrange = (jobs, by, now) => {
	const groups = new Map();
	for (const job of jobs) {
		const start = microseconds(job.start);
		if (start === null)
			continue;
		const end = known(job.end) && outcome(job)[0] !== 'running' ? microseconds(job.end) : Math.max(start, now);
		const value = valueOf(by, job);
		if (!groups.has(value))
			groups.set(value, []);
		groups.get(value).push({job, start, end: Math.max(start, end), failed: outcome(job)[0] === 'failed'});
	}
	/* those without a value are last */
	const order = [...groups].sort(([a], [b]) => (a === null) - (b === null) || String(a).localeCompare(String(b), undefined, {numeric: true}));
	const rows = [], bars = [];
	let from = 0;
	for (const [value, list] of order.slice(0, ROWS)) {
		const ends = [];
		for (const bar of list.sort((a, b) => a.start - b.start)) {
			let lane = ends.findIndex((end) => end <= bar.start);
			lane = lane < 0 ? ends.length : lane;
			ends[lane] = bar.end;
			bars.push({...bar, lane: from + lane});
		}
		rows.push({value, list, from, lanes: ends.length});
		from += ends.length + 1; /* an empty one between two rows */
	}
	return {rows, bars, lanes: from - 1, left: order.length - rows.length};
};
const colors = (bars, by) => {
	const counts = new Map();
	for (const b of bars)
		counts.set(valueOf(by, b.job), (counts.get(valueOf(by, b.job)) || 0) + 1);
	return new Map([...counts].sort((a, b) => b[1] - a[1]).map(([value], i) => [value, Math.min(i, 8)]));
};
const filterOf = (by, value) => {
	const keys = {user: 'user', name: 'jobname', host: 'host', status: 'status'};
	const one = (Object.hasOwn(keys, by) ? keys[by] : 'tag.' + by) + ' = ' + quoted(value);
	return state().where ? '(' + state().where + ') and ' + one : one;
};
const rowTable = (rows, by) => table([
	{label: by, cell: (r) => r.value === null ? dash : el('a', {href: pageLink('', {where: filterOf(by, r.value)})}, text(r.value))},
	{label: 'Jobs', n: true, value: (r) => r.list.length, cell: (r) => number(r.list.length)},
	{label: 'Failed', n: true, value: (r) => r.list.filter((b) => b.failed).length, cell: (r) => number(r.list.filter((b) => b.failed).length)},
	{label: 'First start', kind: 'nowrap', cell: (r) => shortTime(r.list[0].job.start)},
	{label: 'Last start', kind: 'nowrap', cell: (r) => shortTime(r.list[r.list.length - 1].job.start)},
	{label: 'CPU time', n: true, value: (r) => r.list.reduce((sum, b) => sum + (b.job.cpu_time || 0), 0),
		cell: (r) => amount('us', r.list.reduce((sum, b) => sum + (b.job.cpu_time || 0), 0))},
	{label: 'At once', n: true, title: 'most jobs at the same time', value: (r) => r.lanes, cell: (r) => number(r.lanes)},
], rows, {caption: 'Rows', cards: true});

const draw = async ({jobs, total, more}, place, by, color) => {
	const now = Math.max(Date.now() * 1000, ...jobs.map((job) => microseconds(job.start) || 0));
	const {rows, bars, lanes, left} = arrange(jobs, by, now);
	if (!bars.length) {
		place.replaceChildren(empty('No job matches the filter.'));
		return;
	}
	const begin = bars.reduce((t, b) => Math.min(t, b.start), Infinity), end = bars.reduce((t, b) => Math.max(t, b.end), begin + 1000);
	const newestJob = bars.reduce((a, b) => a.start > b.start ? a : b).job;
	await openCharts(begin, end, [offset(newestJob.start)]);
	const height = lanes > THICK_LANES ? THIN : LANE, tall = lanes * height;
	const colorBy = colors(bars, color), bar = barPlace(number(bars.length) + ' jobs by ' + text(by), tall);
	const names = elements.svg('svg', {class: 'row-names', height: tall, 'aria-hidden': 'true'});
	for (const r of rows) {
		const label = elements.svg('text', {x: '100%', y: ((r.from + r.lanes / 2) * height + 4).toFixed(1)},
			values.shorten(text(r.value ?? 'without'), 30));
		label.append(elements.svg('title', {}, text(r.value ?? 'without')));
		names.append(label);
	}
	place.replaceChildren(el('p', {class: 'dim'}, number(bars.length) + ' jobs' + (more ? ', the newest' + (total ? ' of ' + number(total) : '') : '') +
		', by ' + text(by) + (left ? '; ' + number(left) + ' more rows are left out' : '') + '. A click on a job opens it; failed jobs end with a red mark.'),
	zoom.hint(), el('div', {class: 'rows-over-time'}, names, bar),
	el('ul', {class: 'legend swatches'}, [...colorBy].slice(0, 8).map(([value, i]) => el('li', {class: 'q' + i}, values.shorten(text(value ?? 'without'), 60))),
		colorBy.size > 8 ? el('li', {class: 'q8'}, number(colorBy.size - 8) + ' others') : null),
	rowTable(rows, by));
	sortable(place);
	timeBars({place: bar, bars, height, word: 'jobs', stale: true,
		colorOf: (b) => 'q' + colorBy.get(valueOf(color, b.job)), labelOf: (b) => values.shorten(text(b.job.jobname || b.job.jobid), 60),
		titleOf: (b) => 'Job ' + text(b.job.jobid),
		rowsOf: (b) => [['', 'name', values.shorten(text(b.job.jobname || dash), 60)], ['', 'user', text(b.job.user || dash)], ['', text(by), text(valueOf(by, b.job) ?? dash)],
			['', 'from', shortTime(b.job.start)], ['', 'ran', values.duration(b.end - b.start)], ['', 'CPU time', amount('us', b.job.cpu_time)],
			['', 'ended', outcome(b.job)[1]]],
		open: (b) => { location.href = jobLink(b.job.link || b.job.jobid); }});
};
/* Seconds from UTC to the time of the place that wrote a time. */
const offset = (iso) => {
	const [, sign, hours, minutes] = /([+-])(\d\d):?(\d\d)$/.exec(iso) || [null, '+', 0, 0];
	return (sign === '-' ? -60 : 60) * (60 * hours + Number(minutes));
};

export const showJobBars = (page) => {
	const s = state(), place = el('div', {});
	const input = (name, value, more) => el('input', {type: 'search', class: 'code', name, value, autocomplete: 'off', spellcheck: 'false', ...more});
	const where = input('where', s.where || '', {placeholder: 'tag.exp_name = ESM4 and after = -7d'});
	const tags = el('datalist', {id: 'row-tags'});
	const by = input('by', s.by || '', {list: 'row-tags'}), color = input('color', s.color || 'user', {list: 'row-tags'});
	let data = null, result = null;
	const again = () => {
		by.placeholder = usualTag(data.jobs);
		const keys = new Set([...Object.keys(own), ...data.jobs.flatMap((job) => Object.keys(job.tags || {}))]);
		tags.replaceChildren(...[...keys].map((value) => el('option', {value})));
		draw(data, place, by.value.trim() || by.placeholder, color.value.trim() || 'user');
	};
	const go = (e) => {
		e?.preventDefault();
		const old = state().where || '';
		setState({where: where.value.trim(), by: by.value.trim(), color: color.value.trim() === 'user' ? null : color.value.trim()});
		if (data && old === (state().where || ''))
			again();
		else
			result.reload();
	};
	page.append(el('section', {'aria-label': 'Which jobs'}, el('form', {class: 'fields', onsubmit: go}, field('Filter', where, {wide: true}),
		field('A row for each', by), field('Colours by', color), tags, el('button', {type: 'submit', class: 'main'}, 'Show'))),
	panel('job-bars', 'Jobs over time', place));
	result = fill(place, async (signal) => {
		const {a, b} = state(), chosen = [...ids(a), ...ids(b)];
		return newest(chosen.length && !state().where ? 'jobid = ' + chosen.map(quoted).join(', ') : state().where, signal);
	}, (loaded) => {
		data = loaded;
		again();
	});
};
