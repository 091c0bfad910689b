/* Two sets of runs side by side, a scatter of two metrics, and runs of one command over time. */
import {get, pageLink} from './api.js';
import {dash, el, empty, field, fill, known, panel, setState, state, table, text} from './view.js';
import {amount, number, signed} from './format.js';
import {ids, jobLinks} from './job_links.js';
import {showBoxes} from './boxes.js';
import {showCurves} from './curves.js';
import {showHistory} from './history.js';
import {showJobBars} from './job_bars.js';
import {showScatter} from './scatter.js';

const says = {
	'worse': ['severe', 'Worse', 'At least one metric has become worse by more than the smallest change that matters.'],
	'not worse': ['ok', 'Not worse', 'No metric has become worse.'],
	'inconclusive': ['notice', 'Inconclusive', 'There are too few runs, or they differ too much, to tell.'],
};
const verdict = (c) => {
	const [kind, title, why] = says[c.verdict] || ['notice', text(c.verdict), ''];
	const more = Math.max(0, ...c.comparisons.filter((x) => x.group === 'job').map((x) => x.more_runs || 0));
	return el('div', {class: 'finding ' + kind}, el('h3', {}, title),
		el('p', {}, why + ' Changes below ' + (c.min_effect * 100).toFixed(0) + ' % do not count; confidence ' +
			(c.confidence * 100).toFixed(0) + ' %.'),
		c.verdict === 'inconclusive' && more ? el('p', {}, 'About ' + more + ' more ' + (more > 1 ? 'runs' : 'run') +
			' of each set would settle it.') : null,
		c.failed_runs || c.failed_baseline_runs ? el('p', {}, (c.failed_runs + c.failed_baseline_runs) +
			' failed runs were left out.') : null);
};
const change = (c) => el('span', {class: 'change ' + (c.verdict === 'worse' ? 'worse' : c.better ? 'better' : '')},
	signed(c.change));
const columns = (first) => [
	...first,
	{label: 'Baseline', n: true, value: (c) => c.baseline_median, cell: (c) => amount(c.unit, c.baseline_median)},
	{label: 'Runs', n: true, value: (c) => c.median, cell: (c) => amount(c.unit, c.median)},
	{label: 'Change', n: true, value: (c) => c.change, cell: change},
	{label: 'Likely range', n: true, cell: (c) => known(c.low) ? signed(c.low) + ' to ' + signed(c.high) : dash,
		title: 'confidence interval of the change'},
	{label: 'Verdict', cell: (c) => c.better ? 'better' : text(c.verdict)},
];
const showComparison = (c, place) => {
	const of = (job) => c.comparisons.filter((x) => (x.group === 'job') === job && (known(x.median) || known(x.baseline_median)));
	const parts = of(false).sort((a, b) => Math.abs(b.median - b.baseline_median) - Math.abs(a.median - a.baseline_median));
	const set = (title, runs) => el('div', {}, el('h3', {}, title + ' (' + number(runs.length) + ')'), jobLinks(runs));
	place.replaceChildren(verdict(c),
		el('div', {class: 'charts'}, set('Baseline', c.baseline_runs), set('Runs', c.runs)),
		panel('metrics', 'Metrics', table(columns([{label: 'Metric', cell: (x) => text(x.metric)}]), of(true),
			{caption: 'Metrics', cards: true})));
	if (parts.length)
		place.append(panel('parts', 'Parts', el('p', {class: 'dim'}, 'Those with the largest difference first.'),
			table(columns([{label: 'Part', cell: (x) => text(x.name || '') || x.group}, {label: 'Metric', cell: (x) => text(x.metric)}]), parts,
				{caption: 'Parts', cards: true})));
	sortable(place);
};
const showSets = (page) => {
	const s = state(), place = el('div', {});
	const a = el('input', {type: 'text', class: 'code', value: s.a || '', placeholder: 'job, or several', name: 'a',
		autocomplete: 'off', spellcheck: 'false'});
	const b = el('input', {type: 'text', class: 'code', value: s.b || '', name: 'b', autocomplete: 'off', spellcheck: 'false',
		placeholder: 'empty: earlier runs like the first'});
	const all = el('input', {type: 'checkbox', checked: s.metric === 'all', id: 'all-metrics'});
	const parts = el('input', {type: 'checkbox', checked: Boolean(s.by), id: 'by-parts'});
	const failed = el('input', {type: 'checkbox', checked: s.with_failed === '1'});
	let result = null;
	const go = (e) => {
		e?.preventDefault();
		setState({with_failed: failed.checked, a: ids(a.value).join(','), b: ids(b.value).join(','), metric: all.checked ? 'all' : null,
			by: parts.checked ? 'executable' : null});
		if (!ids(a.value).length) {
			result?.stop();
			result = null;
			place.replaceChildren(empty('Which jobs?', 'Enter the ids of the runs and of the baseline; or mark jobs in the list with `x`.'));
		} else if (result)
			result.reload();
		else
			result = fill(place, (signal) => {
				const now = state();
				return get('compare', {a: ids(now.a), b: ids(now.b), metric: now.metric, by: now.by,
					with_failed: now.with_failed}, signal);
			}, showComparison);
	};
	all.addEventListener('change', go);
	parts.addEventListener('change', go);
	failed.addEventListener('change', go);
	page.append(el('section', {'aria-label': 'Which jobs'}, el('form', {class: 'fields', onsubmit: go}, field('Baseline', b),
		field('Runs', a), el('label', {class: 'check'}, all, ' all metrics'),
		el('label', {class: 'check'}, parts, ' by executable'), el('label', {class: 'check'}, failed, ' failed runs, too'), el('button', {type: 'submit', class: 'main'}, 'Compare'))), place);
	go();
};

const views = [['', 'Two sets', showSets], ['curves', 'Curves', showCurves], ['scatter', 'Scatter', showScatter],
	['gantt', 'Over time', showJobBars], ['boxes', 'Against a model', showBoxes], ['history', 'History', showHistory]];
export const show = (page) => {
	const s = state(), here = s.view || '';
	/* jobs and filter stay when the view changes */
	const link = (view) => pageLink('compare', {view, a: s.a, b: s.b, where: s.where});
	page.replaceChildren(el('h1', {}, 'Compare'), el('ul', {class: 'tabs'}, views.map(([view, label]) => el('li', {},
		el('a', {href: link(view), 'aria-current': view === here ? 'page' : null}, label)))));
	page.querySelector('.tabs [aria-current]')?.scrollIntoView({block: 'nearest', inline: 'center'});
	(views.find(([view]) => view === here) || views[0])[2](page);
};
