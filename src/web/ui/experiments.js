/* An experiment: its components, the jobs of each in model time, what is slow, missing or failed. */
import {get, jobLink, name, pageLink} from './api.js';
import {choice, dash, el, empty, field, fill, known, panel, setState, state, table, text} from './view.js';
import {amount, number, percent} from './format.js';

const defaults = {key: 'exp_name', by: 'exp_component', over: 'exp_time', metric: 'duration'};
const NONE = '(none)'; /* the group of jobs without the tag, as `plimsoll explore` calls it */
const now = () => ({...defaults, ...state()});
const here = (changes) => pageLink('experiments', {...state(), ...changes});

/* ---- all experiments ---- */
const showAll = (groups, place) => {
	const {key} = now(), some = groups.filter((g) => known(g.tags?.[key]));
	const value = (g) => String(g.tags[key]);
	place.replaceChildren(panel('all', 'Experiments', some.length ? table([
		{label: 'Experiment', cell: (g) => el('a', {href: here({experiment: value(g)})}, text(value(g)))},
		{label: 'Jobs', n: true, value: (g) => g.count, cell: (g) => number(g.count)},
		{label: 'Duration of all jobs', n: true, value: (g) => g.duration, cell: (g) => amount('us', g.duration)},
		{label: 'CPU time', n: true, value: (g) => g.cpu_time, cell: (g) => amount('us', g.cpu_time)},
	], some, {caption: 'Experiments', cards: true}) : empty('No job has the tag ' + text(key) + '.',
		'An experiment is the set of all jobs with one value of a tag. Set tags with `plimsoll run --tags` or `plimsoll tag`.')));
	sortable(place);
};

/* ---- one experiment ---- */
const median = (list) => {
	const sorted = [...list].sort((a, b) => a - b), n = sorted.length;
	return n % 2 ? sorted[n >> 1] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
};
/* One box per segment: as dark as the job is above the median of its group. */
const strip = (g, segments, unit, over) => {
	const WIDE = 14, middle = median(g.jobs.map((j) => j.value).filter(known));
	const svg = elements.svg('svg', {class: 'strip', width: segments.length * WIDE, height: 18, role: 'group',
		'aria-label': 'jobs by ' + text(over)});
	segments.forEach((segment, i) => {
		const jobs = g.jobs.filter((j) => j.segment === segment);
		if (!jobs.length) {
			if (g.missing.includes(segment))
				svg.append(elements.svg('rect', {class: 'missing', x: i * WIDE + 1, y: 1, width: WIDE - 2, height: 16}));
			return;
		}
		const j = jobs[jobs.length - 1], failed = j.exitcode > 0;
		const a = elements.svg('a', {href: jobLink(j.jobid), 'aria-label': 'Job ' + text(j.jobid) + ', ' + text(segment ?? '')});
		const above = middle > 0 && known(j.value) ? Math.max(0, Math.min(1, (j.value / middle - 0.5) / 1.5)) : 0;
		a.append(elements.svg('rect', {class: failed ? 'failed' : j.outlier.length ? 'outlier' : 'job', x: i * WIDE + 1, y: 1,
			width: WIDE - 2, height: 16, rx: 2, 'fill-opacity': (0.25 + 0.7 * above).toFixed(2)}));
		const show = (e) => {
			const box = a.getBoundingClientRect();
			elements.showTip(elements.tipTable('Job ' + text(j.jobid), [['', text(over), text(segment ?? dash)],
				['', 'value', amount(unit, j.value)], ...(middle > 0 ? [['', 'of the median', percent(j.value / middle)]] : []),
				...(failed ? [['', 'exit status', String(j.exitcode)]] : []),
				...(j.outlier.length ? [['', 'outlier by', j.outlier.join(', ')]] : []),
				...(jobs.length > 1 ? [['', 'attempts', String(jobs.length)]] : [])]), e.clientX || box.x, e.clientY || box.y);
		};
		a.addEventListener('pointerenter', show);
		a.addEventListener('focus', show);
		a.addEventListener('pointerleave', elements.hideTip);
		a.addEventListener('blur', elements.hideTip);
		svg.append(a);
	});
	return svg;
};
const share = (v) => {
	const bar = elements.svg('svg', {class: 'bar', viewBox: '0 0 100 4', preserveAspectRatio: 'none', 'aria-hidden': 'true'});
	bar.append(elements.svg('rect', {width: (v * 100).toFixed(1), height: 4}));
	return [percent(v), bar];
};
const groupTable = (x, segments) => table([
	{label: x.by, cell: (g) => el('a', {href: here({group: g.group ?? NONE})}, text(g.group ?? NONE))},
	{label: 'Jobs', n: true, value: (g) => g.jobs.length, cell: (g) => number(g.jobs.length)},
	{label: 'Sum', n: true, value: (g) => g.sum, cell: (g) => amount(x.unit, g.sum)},
	{label: 'Share', n: true, value: (g) => g.share, cell: (g) => el('span', {}, share(g.share))},
	{label: 'Least', n: true, value: (g) => g.min, cell: (g) => amount(x.unit, g.min)},
	{label: 'Most', n: true, value: (g) => g.max, cell: (g) => amount(x.unit, g.max)},
	{label: 'CV', n: true, value: (g) => g.cv, cell: (g) => percent(g.cv), title: 'standard deviation by mean'},
	{label: 'Failed', n: true, value: (g) => g.failed, cell: (g) => el('span', {class: g.failed ? 'bad' : null}, number(g.failed))},
	{label: 'Missing', n: true, value: (g) => g.missing.length, cell: (g) => el('span', {title: g.missing.join(' ')}, number(g.missing.length))},
	...(segments.length <= 80 ? [{label: 'Jobs by ' + x.over, cell: (g) => strip(g, segments, x.unit, x.over)}] : []),
], x.groups, {caption: 'Groups', cards: true});
const jobTable = (x, jobs) => table([
	{label: 'Job', cell: (j) => el('a', {href: here({job: j.jobid})}, text(j.jobid))},
	{label: x.by, cell: (j) => text(j.group ?? NONE)},
	{label: x.over, cell: (j) => text(j.segment ?? dash)},
	{label: x.metric, n: true, value: (j) => j.value, cell: (j) => amount(x.unit, j.value)},
	{label: 'Exit', n: true, value: (j) => j.exitcode, cell: (j) => el('span', {class: j.exitcode ? 'bad' : null},
		known(j.exitcode) ? String(j.exitcode) : dash)},
	{label: 'Outlier by', cell: (j) => j.outlier.join(', ')},
], jobs, {caption: 'Jobs', cards: true});
const tile = (label, value, bad) => el('div', {class: 'figure'}, el('dt', {}, label), el('dd', {class: bad ? 'bad' : null}, value));
const showOne = (x, place) => {
	const segments = x.segments.map((s) => s.segment), {group, segment} = state();
	const jobs = x.groups.flatMap((g) => g.jobs.map((j) => ({...j, group: g.group}))), same = (value, wanted) => !wanted || (value ?? NONE) === wanted;
	const chosen = group || segment ? jobs.filter((j) => same(j.group, group) && same(j.segment, segment)) : null;
	const missing = x.groups.reduce((n, g) => n + g.missing.length, 0);
	place.replaceChildren(
		el('div', {class: 'tiles'}, el('dl', {class: 'figures'}, tile('Jobs', number(x.jobs)), tile('Groups', number(x.group_count)),
			tile('Sum of ' + x.metric, amount(x.unit, x.sum)), tile('Failed', number(x.failed), x.failed > 0), tile('Missing', number(missing)))),
		chosen ? panel('group', [group, segment].filter(Boolean).map(text).join(', '), chosen.length ? jobTable(x, chosen) :
			empty('There are no such jobs in this experiment.')) :
			panel('groups', 'Groups by ' + text(x.by), el('ul', {class: 'legend swatches strips'}, el('li', {class: 'k0'}, 'job, darker above the median'),
				el('li', {class: 'k1'}, 'outlier'), el('li', {class: 'bad-key'}, 'failed'), el('li', {class: 'missing-key'}, 'missing')),
			groupTable(x, segments)));
	if (!chosen && x.segments.length > 1)
		place.append(panel('segments', 'By ' + text(x.over), table([{label: x.over, cell: (s) => el('a', {href: here({segment: s.segment ?? NONE})}, text(s.segment ?? NONE))},
			{label: 'Jobs', n: true, value: (s) => s.jobs, cell: (s) => number(s.jobs)},
			{label: 'Sum', n: true, value: (s) => s.sum, cell: (s) => amount(x.unit, s.sum)},
			{label: 'Outlier by', cell: (s) => s.outlier.join(', ')}], x.segments, {caption: 'Segments'})));
	sortable(place);
};

/* ---- one job of it ---- */
const showOperations = (ops, place) => {
	const {job} = state(), all = ops.reduce((sum, o) => sum + (o.cpu_time || 0), 0);
	place.replaceChildren(panel('operations', 'Operations of job ' + text(job), el('p', {}, el('a', {href: jobLink(job)}, 'Everything about this job')),
		ops.length ? table([
			{label: 'Operation', cell: (o) => text(o.operation)},
			{label: 'Processes', n: true, value: (o) => o.processes, cell: (o) => number(o.processes)},
			{label: 'CPU time', n: true, value: (o) => o.cpu_time, cell: (o) => amount('us', o.cpu_time)},
			{label: 'Share', n: true, value: (o) => o.cpu_time, cell: (o) => el('span', {}, all > 0 && known(o.cpu_time) ? share(o.cpu_time / all) : dash)},
			{label: 'Duration', n: true, value: (o) => o.duration, cell: (o) => amount('us', o.duration)},
			{label: 'Largest process', n: true, value: (o) => o.rssmax, cell: (o) => amount('KiB', o.rssmax)},
			{label: 'Read', n: true, value: (o) => o.rchar, cell: (o) => amount('bytes', o.rchar)},
			{label: 'Written', n: true, value: (o) => o.wchar, cell: (o) => amount('bytes', o.wchar)},
		], ops, {caption: 'Operations', cards: true}) : empty('The processes of this job have no operations.',
			'An operation is the set of processes with the same tags: set them with `PLIMSOLL_TAGS` in the job script.')));
	sortable(place);
};

/* where one is: experiment, group or segment, job */
const trail = (s) => {
	const steps = [['Experiments', {experiment: null, group: null, segment: null, job: null}]];
	if (s.experiment)
		steps.push([s.experiment, {group: null, segment: null, job: null}]);
	if (s.group || s.segment)
		steps.push([[s.group, s.segment].filter(Boolean).join(', '), {job: null}]);
	if (s.job)
		steps.push(['job ' + s.job, {}]);
	return el('nav', {'aria-label': 'Where this is'}, el('ol', {class: 'inline trail'}, steps.map(([label, changes], i) => el('li', {},
		i === steps.length - 1 ? el('span', {'aria-current': 'page'}, text(label)) : el('a', {href: here(changes)}, text(label))))));
};

export const show = (page) => {
	const s = now(), place = el('div', {});
	const input = (name, value) => el('input', {type: 'text', class: 'code', name, value, autocomplete: 'off', spellcheck: 'false'});
	const key = input('key', s.key), by = input('by', s.by), over = input('over', s.over);
	const metric = choice([['duration', 'duration'], ['cpu_time', 'CPU time'], ['processes', 'processes'], ['num_threads', 'threads'],
		['rssmax', 'memory'], ['rchar', 'bytes read'], ['wchar', 'bytes written']], s.metric);
	const apply = (e) => {
		e?.preventDefault();
		setState(Object.fromEntries(Object.entries({key: key.value.trim(), by: by.value.trim(), over: over.value.trim(), metric: metric.value})
			.map(([name, v]) => [name, v === defaults[name] ? null : v])));
		place.replaceChildren();
		data.reload();
	};
	metric.addEventListener('change', apply);
	page.replaceChildren(el('h1', {}, s.experiment ? text(s.experiment) : 'Experiments'),
		s.experiment ? trail(s) : '',
		s.job ? '' : el('section', {'aria-label': 'What is shown'}, el('form', {class: 'fields', onsubmit: apply}, field('Experiments by tag', key),
			s.experiment ? [field('Groups by tag', by), field('In the order of tag', over), field('Metric', metric)] : null,
			el('button', {type: 'submit', class: 'main'}, 'Show'))), place);
	const data = fill(place, (signal) => {
		const t = now();
		return t.job ? get('jobs/' + name(t.job) + '/ops', {}, signal).then((operations) => ({operations})) : t.experiment ? get('explore', {experiment: t.key === 'exp_name' ? t.experiment : t.key + ':' + t.experiment, by: t.by,
			over: t.over, metric: t.metric, limit: 1000}, signal) : get('groups', {by: t.key}, signal);
	}, (answer, where) => answer.operations ? showOperations(answer.operations, where) : Array.isArray(answer) ? showAll(answer, where) : showOne(answer, where));
};
