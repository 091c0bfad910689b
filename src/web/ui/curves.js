/* Curves of several jobs, each from its own start: the charts of the report, with one zoom. */
import {get, name} from './api.js';
import {el, empty, field, fill, panel, setState, state, text} from './view.js';
import {microseconds, number} from './format.js';
import {ids} from './job_links.js';
import {lineChart, openCharts} from './over_time.js';

const MOST = 20;
const key = (s) => s.label || s.metric;

/* All that the reports of the jobs have. A job that cannot be read does not hide the others. */
const load = async (signal) => {
	const s = state(), wanted = [...new Set([...ids(s.a), ...ids(s.b)])];
	const jobs = [], missing = [];
	for (const id of wanted.slice(0, MOST)) {
		try {
			jobs.push([id, await get('jobs/' + name(id) + '/report', {}, signal)]);
		} catch (error) {
			if (error.status !== 404)
				throw error;
			missing.push(id);
		}
	}
	return {jobs, missing, left: wanted.length - Math.min(MOST, wanted.length)};
};
/* The series of all jobs by what they show: [{label, unit, panel, series: [[job, series]]}] */
const group = (jobs) => {
	const all = new Map();
	for (const [id, report] of jobs)
		for (const s of report.series) {
			if (!all.has(key(s)))
				all.set(key(s), {label: key(s), unit: s.unit || '', panel: s.panel, series: []});
			const g = all.get(key(s));
			if (g.unit === (s.unit || ''))
				g.series.push([id, report, s]);
		}
	return [...all.values()];
};
/* Without a choice: the first of each kind. */
const chosenOf = (groups) => {
	const s = state().metrics?.split(',').map((word) => word.trim());
	const found = s ? groups.filter((g) => s.includes(g.label)) : [];
	return found.length ? found : groups.filter((g, i) => groups.findIndex((other) => other.panel === g.panel) === i).slice(0, 4);
};
const linesOf = (g, several) => g.series.map(([id, report, s]) => {
	const start = microseconds(report.job.start) ?? report.origin;
	const where = [s.host, s.entity].filter(Boolean).join(' ');
	return {...zoom.columns(s, {times: report.times, origin: report.origin - start}), seldom: s.seldom,
		name: text(several && where ? id + ', ' + where : id)};
});
const menu = (groups, chosen, change) => {
	const names = new Set(chosen.map((g) => g.label));
	return el('details', {class: 'menu'}, el('summary', {}, 'Metrics'), el('div', {}, groups.map((g) => el('label', {},
		el('input', {type: 'checkbox', checked: names.has(g.label), onchange: (e) => {
			names[e.target.checked ? 'add' : 'delete'](g.label);
			change(groups.filter((x) => names.has(x.label)).map((x) => x.label));
		}}), text(g.label)))));
};
const draw = async ({jobs, missing, left}, place, metrics) => {
	const groups = group(jobs);
	if (!groups.length) {
		place.replaceChildren(empty(jobs.length ? 'These jobs have no samples.' : 'No such job.',
			'`plimsoll run --sample` and `plimsoll monitor` record curves.'));
		metrics.replaceChildren();
		return;
	}
	const spans = jobs.map(([, r]) => {
		const start = microseconds(r.job.start) ?? r.origin, last = Math.max(r.job.duration || 0, ...r.times.slice(-1), 0);
		return [Math.min(0, r.origin - start), Math.max(r.job.duration || 0, r.origin - start + last)];
	});
	await openCharts(Math.min(...spans.map(([a]) => a)), Math.max(...spans.map(([, z]) => z)), null);
	const show = () => {
		const chosen = chosenOf(groups), made = chosen.map((g) => {
			const several = new Set(g.series.map(([id]) => id)).size < g.series.length, lines = linesOf(g, several);
			return [lineChart(text(g.label), lines), lines, g.unit];
		});
		place.replaceChildren(...missing.map((id) => el('p', {class: 'finding notice'}, 'There is no job ', el('code', {}, text(id)), '.')),
			el('p', {class: 'dim'}, number(jobs.length) + (jobs.length === 1 ? ' job' : ' jobs') + ', each from its start' +
				(left ? '; ' + number(left) + ' more are left out' : '') + '.'),
			zoom.hint(), el('div', {class: 'charts wide'}, made.map(([figure]) => figure)));
		for (const one of made)
			zoom.addLines(...one);
	};
	metrics.replaceChildren(menu(groups, chosenOf(groups), async (labels) => {
		setState({metrics: labels.join(',')}, {replace: true});
		zoom.forget();
		show();
	}));
	show();
};

export const showCurves = (page) => {
	const s = state(), place = el('div', {}), metrics = el('div', {});
	const jobs = el('input', {type: 'text', class: 'code', value: [...ids(s.a), ...ids(s.b)].join(', '), name: 'jobs', autocomplete: 'off',
		spellcheck: 'false', placeholder: 'two jobs or more'});
	let result = null;
	const go = (e) => {
		e?.preventDefault();
		if (e)
			setState({a: ids(jobs.value).join(','), b: null});
		if (!ids(jobs.value).length) {
			result?.stop();
			result = null;
			place.replaceChildren(empty('Which jobs?', 'Enter ids of jobs; or mark jobs in the list with `x`.'));
		} else if (result)
			result.reload();
		else
			result = fill(place, load, (loaded, where) => draw(loaded, where, metrics));
	};
	page.append(el('section', {'aria-label': 'Which jobs'}, el('form', {class: 'fields', onsubmit: go}, field('Jobs', jobs, {wide: true}),
		el('button', {type: 'submit', class: 'main'}, 'Show'), metrics)), panel('curves', 'Curves', place));
	go();
};
