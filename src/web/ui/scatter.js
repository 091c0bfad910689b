/* Two metrics of the jobs that a filter selects, as points; those in a rectangle that is dragged are listed. */
import {jobLink, pageLink} from './api.js';
import {choice, el, empty, field, fill, panel, setState, state, table, text} from './view.js';
import {number, outcome} from './format.js';
import {metrics} from './columns.js';
import {quoted} from './job_links.js';
import {newest} from './newest.js';
import {dots, figure, linear, logarithmic, plane, redrawn, selectable} from './plane.js';

const FEW = 20; /* jobs: no more are compared one by one */
const byName = (name) => metrics.find((m) => m.name === name);

/* What to do with the jobs in the rectangle: a filter is their ids, or if they are many the limits of the rectangle. */
const chosenLinks = (jobs, [x, y]) => {
	const known = jobs.map((j) => j.link || j.jobid), few = jobs.length <= FEW;
	const limits = (m) => [jobs.reduce((v, j) => Math.min(v, m.value(j)), Infinity), jobs.reduce((v, j) => Math.max(v, m.value(j)), -Infinity)]
		.map((v, i) => m.name + (i ? ' <= ' : ' >= ') + v + (m.unit === 'us' ? 'us' : ''));
	const where = few ? 'jobid = ' + [...new Set(jobs.map((j) => j.jobid))].map(quoted).join(', ') : [x, y].every((m) => m.sort === m.name) ?
		[state().where && '(' + state().where + ')', ...limits(x), ...limits(y)].filter(Boolean).join(' and ') : null;
	const link = (label, href) => el('a', {class: 'button', href}, label);
	return el('div', {class: 'bar-line', id: 'chosen'},
		where ? link('List', pageLink('', {where})) : '',
		where ? link('Over time', pageLink('compare', {view: 'gantt', where})) : '',
		few && jobs.length > 1 ? link('Compare', pageLink('compare', {a: known[0], b: known.slice(1).join(',')})) : '',
		few ? link('Curves', pageLink('compare', {view: 'curves', a: known.join(',')})) : '',
		few ? link('Against a model', pageLink('compare', {view: 'boxes', a: known.join(',')})) : '');
};
const listOf = (jobs, x, y) => [el('h3', {}, number(jobs.length) + (jobs.length === 1 ? ' job' : ' jobs') + ' in the rectangle'),
	jobs.length ? chosenLinks(jobs, [x, y]) : '',
	jobs.length ? table([{label: 'Job', cell: (j) => el('a', {href: jobLink(j.link || j.jobid)}, text(j.jobid))}, {label: 'Name', cell: (j) => text(j.jobname || '')},
		{label: 'User', cell: (j) => text(j.user || '')},
		...[x, y].map((m) => ({label: m.label, n: true, value: m.value, cell: (j) => m.text(j)}))], jobs, {caption: 'Jobs'}) : ''];

const draw = (place, list, {jobs, total, more}, [x, y], log) => {
	const points = jobs.map((job) => ({job, x: x.value(job), y: y.value(job)})).filter((p) =>
		Number.isFinite(p.x) && Number.isFinite(p.y) && (!log || (p.x > 0 && p.y > 0)));
	if (!points.length) {
		place.replaceChildren(empty('No job has both metrics.', jobs.length ? 'Choose others.' : 'No job matches the filter.'));
		return;
	}
	const scale = (m, key) => (from, to) => (log ? logarithmic : linear)(points.map((p) => p[key]), m.unit, from, to);
	const canvas = el('div', {});
	let chosen = new Set(); /* stays when it is drawn again */
	const mark = () => points.forEach((q) => q.dot.classList.toggle('marked', chosen.has(q)));
	redrawn(canvas, () => {
		const p = plane(canvas, {height: 460, xs: scale(x, 'x'), ys: scale(y, 'y'), xLabel: x.label, yLabel: y.label,
			label: y.label + ' by ' + x.label + ' of ' + points.length + ' jobs'});
		dots(p, points.map((point) => Object.assign(point, {href: jobLink(point.job.link || point.job.jobid), title: 'Job ' + text(point.job.jobid),
			kind: outcome(point.job)[0], rows: [['name', text(point.job.jobname || '')], ['user', text(point.job.user || '')],
				[x.label, x.text(point.job)], [y.label, y.text(point.job)], ['ended', outcome(point.job)[1]]]})));
		selectable(p, (box) => {
			const inside = (q) => box && p.x.at(q.x) >= box[0] && p.x.at(q.x) <= box[1] && p.y.at(q.y) >= box[2] && p.y.at(q.y) <= box[3];
			chosen = new Set(points.filter(inside));
			mark();
			list.replaceChildren(...(box ? listOf([...chosen].map((q) => q.job), x, y) : []));
			sortable(list);
		});
		mark();
		canvas.replaceChildren(p.svg);
	});
	place.replaceChildren(el('p', {class: 'dim'}, number(points.length) + ' jobs' + (more ? ', the newest' +
		(total ? ' of ' + number(total) : '') : '') + '. Drag a rectangle to list the jobs in it; failed jobs are red.'), figure(canvas));
};

export const showScatter = (page) => {
	const s = state(), place = el('div', {}), list = el('div', {});
	const options = metrics.map((m) => [m.name, m.label]);
	const where = el('input', {type: 'search', class: 'code', value: s.where || '', placeholder: 'duration > 1h', name: 'where',
		autocomplete: 'off', spellcheck: 'false'});
	const x = choice(options, byName(s.x) ? s.x : 'duration', {name: 'x'}), y = choice(options, byName(s.y) ? s.y : 'cpu_time', {name: 'y'});
	const log = el('input', {type: 'checkbox', checked: s.log !== '0', id: 'log'});
	let data = null, result = null;
	const again = () => {
		setState({x: x.value, y: y.value, log: log.checked ? null : '0'}, {replace: true});
		list.replaceChildren();
		if (data)
			draw(place, list, data, [byName(x.value), byName(y.value)], log.checked);
	};
	for (const input of [x, y, log])
		input.addEventListener('change', again);
	page.append(el('section', {'aria-label': 'Which jobs'}, el('form', {class: 'fields', onsubmit: (e) => {
		e.preventDefault();
		setState({where: where.value.trim()});
		result.reload();
	}}, field('Filter', where, {wide: true}), field('Across', x), field('Up', y), el('label', {class: 'check'}, log, ' logarithmic'),
	el('button', {type: 'submit', class: 'main'}, 'Show'))), panel('scatter', 'Scatter', place, list));
	result = fill(place, (signal) => newest(state().where, signal), (loaded) => {
		data = loaded;
		again();
	});
};
