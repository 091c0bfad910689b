/* The runs of one command over time, with the runs at which a metric changed. */
import {get, jobLink} from './api.js';
import {el, empty, field, fill, panel, setState, state, text} from './view.js';
import {amount, number, shortTime, signed} from './format.js';
import {figure, dots, linear, plane, redrawn} from './plane.js';

const levels = (m, p, runs) => {
	const turns = m.changes.map((c) => runs.findIndex((r) => r.job === c.job && r.start === c.start)).filter((i) => i > 0);
	const edges = [0, ...turns, runs.length];
	let d = '';
	for (let k = 0; k + 1 < edges.length; k++) {
		const part = runs.slice(edges[k], edges[k + 1]).map((r) => r.value).sort((a, b) => a - b);
		const middle = part.length % 2 ? part[part.length >> 1] : (part[part.length / 2 - 1] + part[part.length / 2]) / 2;
		d += 'M' + p.x.at(edges[k]).toFixed(1) + ' ' + p.y.at(middle).toFixed(1) + 'H' + p.x.at(edges[k + 1] - 1).toFixed(1);
	}
	p.svg.append(elements.svg('path', {class: 'level', d}));
	for (const i of turns)
		p.svg.append(elements.svg('path', {class: 'turn', d: 'M' + p.x.at(i - 0.5).toFixed(1) + ' 12V' + (p.height - 40)}));
};
/* Runs stand side by side: what counts is their order. */
const runScale = (runs) => (from, to) => {
	const n = Math.max(1, runs.length - 1), step = Math.max(1, Math.ceil(n / 8)), ticks = [];
	const sameDay = runs.length && runs[0].start.slice(0, 10) === runs[runs.length - 1].start.slice(0, 10);
	for (let i = 0; i < runs.length; i += step)
		ticks.push([i, sameDay ? runs[i].start.slice(11, 16) : runs[i].start.slice(0, 10)]);
	return {at: (i) => from + 8 + i / n * (to - from - 16), ticks};
};
const draw = (m) => {
	const place = el('div', {}), runs = m.runs.filter((r) => r.value !== null);
	redrawn(place, () => {
		const p = plane(place, {height: 300, xs: runScale(runs), ys: (from, to) => linear(runs.map((r) => r.value), m.unit, from, to, 5),
			xLabel: 'runs in the order of time', label: m.metric + ' of ' + runs.length + ' runs'});
		levels(m, p, runs);
		dots(p, runs.map((r, i) => ({x: i, y: r.value, href: jobLink(r.job), title: 'Job ' + text(r.job),
			rows: [['started', shortTime(r.start)], [m.metric, amount(m.unit, r.value)]]})));
		place.replaceChildren(p.svg);
	});
	return figure(place);
};
const words = (m) => m.changes.length ? el('ul', {}, m.changes.map((c) => el('li', {}, 'Since job ',
	el('a', {href: jobLink(c.job)}, text(c.job)), ' of ' + shortTime(c.start) + ': ' + amount(m.unit, c.before) + ' \u2192 ' +
	amount(m.unit, c.after) + ', ', el('b', {class: c.change > 0 ? 'bad' : 'good'}, signed(c.change)),
	' (p ' + (c.p < 0.001 ? '< 0.001' : '= ' + c.p.toFixed(3)) + ')'))) :
	el('p', {}, m.runs.length < 10 ? 'At least 10 runs are needed to find changes.' : 'No change was found.');
const showRuns = (h, place) => {
	if (!h.runs) {
		place.replaceChildren(empty('There are no runs like this one.'));
		return;
	}
	place.replaceChildren(el('p', {}, number(h.runs) + (h.runs === 1 ? ' run' : ' runs') +
		(h.fingerprint ? ' of ' : ''), h.fingerprint ? el('code', {}, text(h.fingerprint)) : '',
	h.failed_runs ? '; ' + number(h.failed_runs) + ' failed and left out' : ''),
	...h.metrics.map((m) => panel('history-' + m.metric, text(m.metric), words(m), draw(m))));
};

export const showHistory = (page) => {
	const s = state(), place = el('div', {});
	const job = el('input', {type: 'search', class: 'code', value: s.job || 'last', name: 'job', autocomplete: 'off', spellcheck: 'false'});
	const metric = el('input', {type: 'text', class: 'code', value: s.metric || '', placeholder: 'duration, cpu_time, rssmax',
		name: 'metric', autocomplete: 'off', spellcheck: 'false'});
	let result = null;
	const go = (e) => {
		e?.preventDefault();
		setState({job: job.value.trim(), metric: metric.value.trim()}, {replace: !e});
		if (result)
			result.reload();
		else
			result = fill(place, (signal) => get('history', {jobs: state().job || 'last',
				metric: (state().metric || 'duration,cpu_time,rssmax').replace(/\s+/g, '')}, signal), showRuns);
	};
	page.append(el('section', {'aria-label': 'Which runs'}, el('form', {class: 'fields', onsubmit: go}, field('All runs like job', job),
		field('Metrics', metric), el('button', {type: 'submit', class: 'main'}, 'Show'))), place);
	go();
};
