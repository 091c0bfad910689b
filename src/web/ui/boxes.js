/* Jobs against a reference model: for each feature a box of the jobs of the model, and beside it the jobs that are looked at. */
import {get, jobLink, name} from './api.js';
import {dash, el, empty, field, fill, known, panel, setState, state, table, text} from './view.js';
import {amount, number} from './format.js';
import {ids} from './job_links.js';
import {dots, figure, linear, logarithmic, plane, redrawn} from './plane.js';
import {featureUnit, featureValue} from './features.js';

const MOST = 200, AT_ONCE = 8; /* jobs */
const EDGE = 10; /* normalised values farther away stand at the edge */
const WIDE = 100; /* values so many times the median make a scale logarithmic */

/* Jobs one by one, some at the same time; those that are not there, or not ours to see, are left out. */
const jobsOf = async (list, signal) => {
	const found = [], waiting = [...list.keys()];
	const worker = async () => {
		while (waiting.length) {
			const i = waiting.shift();
			try {
				found[i] = await get('jobs/' + name(list[i]), {}, signal);
			} catch (error) {
				if (error.status !== 404)
					throw error;
			}
		}
	};
	await Promise.all(Array.from({length: AT_ONCE}, worker));
	return found.filter(Boolean);
};
const load = async (signal) => {
	const s = state(), models = (await get('models', {}, signal)).filter((m) => m.of === 'jobs');
	const model = models.find((m) => m.name === s.model) || models[0];
	if (!model)
		return {models};
	const of = (await get('models/' + name(model.name), {}, signal)).jobs;
	const [reference, jobs] = [await jobsOf(of.slice(0, MOST), signal), await jobsOf([...ids(s.a), ...ids(s.b)].slice(0, MOST), signal)];
	return {models, model, reference, jobs, all: of.length};
};

/* Quartiles between values by straight lines, as in the models themselves. */
const quantile = (sorted, q) => {
	const at = (sorted.length - 1) * q, i = Math.floor(at);
	return sorted[i] + (sorted[Math.min(i + 1, sorted.length - 1)] - sorted[i]) * (at - i);
};
export const boxOf = (list) => {
	const sorted = [...list].sort((a, b) => a - b), [q1, median, q3] = [0.25, 0.5, 0.75].map((q) => quantile(sorted, q));
	const reach = 1.5 * (q3 - q1), inside = sorted.filter((v) => v >= q1 - reach && v <= q3 + reach);
	return {q1, median, q3, low: inside[0], high: inside[inside.length - 1], outside: sorted.filter((v) => v < q1 - reach || v > q3 + reach)};
};

/* What is drawn of one feature. scaled: 0 is the median of the model, 1 the distance between its quartiles. */
const featureOf = (feature, reference, jobs, scaled) => {
	const of = (list) => list.map((job) => ({job, raw: featureValue(job, feature)})).filter((p) => Number.isFinite(p.raw));
	const base = of(reference), looked = of(jobs);
	if (!base.length)
		return null;
	const b = boxOf(base.map((p) => p.raw)), width = b.q3 - b.q1;
	if (scaled && !(width > 0))
		return null;
	const scale = (v) => scaled ? Math.max(-EDGE, Math.min(EDGE, (v - b.median) / width)) : v;
	return {feature, box: b, scale, base: base.map((p) => ({...p, v: scale(p.raw)})), looked: looked.map((p) => ({...p, v: scale(p.raw)}))};
};
const drawBox = (p, f, x, half) => {
	const y = (v) => p.y.at(f.scale(v)).toFixed(1), b = f.box, at = x.toFixed(1), left = (x - half).toFixed(1), right = (x + half).toFixed(1);
	p.svg.append(elements.svg('path', {class: 'box', d: 'M' + left + ' ' + y(b.q1) + 'H' + right + 'V' + y(b.q3) + 'H' + left + 'z'}),
		elements.svg('path', {class: 'whisker', d: 'M' + at + ' ' + y(b.q1) + 'V' + y(b.low) + 'M' + at + ' ' + y(b.q3) + 'V' + y(b.high) +
			'M' + left + ' ' + y(b.low) + 'H' + right + 'M' + left + ' ' + y(b.high) + 'H' + right}),
		elements.svg('path', {class: 'middle', d: 'M' + left + ' ' + y(b.median) + 'H' + right}));
};
const outside = (f, v) => v < f.box.low || v > f.box.high;
/* One plane for the features: several if they are scaled, else one. */
const draw = (features, title, unit) => {
	const place = el('div', {}), n = features.length;
	redrawn(place, () => {
		const scale = (from, to) => ({at: (i) => from + (i + 0.5) / n * (to - from), ticks: n > 1 ? features.map((f, i) => [i, f.feature]) : []});
		const list = features.flatMap((f) => [...f.base, ...f.looked].map((p) => p.v));
		const wide = n === 1 && Math.min(...list) > 0 && Math.max(...list) > WIDE * features[0].box.median;
		const p = plane(place, {height: n > 1 ? 360 : 260, xs: scale, ys: (from, to) => (wide ? logarithmic : linear)(list, unit, from, to, 5), xLabel: '', label: title});
		const half = Math.min(40, (p.x.at(1) - p.x.at(0)) / 5 || 40);
		features.forEach((f, i) => {
			drawBox(p, f, p.x.at(i), half);
			const point = (q, x, kind) => ({x, y: q.v, href: jobLink(q.job.jobid), title: 'Job ' + text(q.job.jobid), kind,
				rows: [[f.feature, amount(featureUnit(f.feature), q.raw)], ['median of the model', amount(featureUnit(f.feature), f.box.median)]]});
			const beside = (k, count) => i + (count > 1 ? (k / (count - 1) - 0.5) * 0.3 : 0);
			dots(p, f.base.filter((q) => outside(f, q.raw)).map((q) => point(q, i, 'reference')), 3);
			dots(p, f.looked.map((q, k) => point(q, beside(k, f.looked.length), outside(f, q.raw) ? 'far' : 'near')), 5);
		});
		place.replaceChildren(p.svg);
	});
	return figure(el('figcaption', {}, el('b', {}, title)), place);
};
const valueTable = (features) => table([
	{label: 'Feature', cell: (f) => text(f.feature)},
	...[['Lower end', 'low'], ['Quartile', 'q1'], ['Median', 'median'], ['Quartile', 'q3'], ['Upper end', 'high']].map(([label, key]) => ({label, n: true,
		value: (f) => f.box[key], cell: (f) => amount(featureUnit(f.feature), f.box[key])})),
	{label: 'Jobs outside', cell: (f) => {
		const far = f.looked.filter((q) => outside(f, q.raw));
		return far.length ? el('ul', {class: 'plain-list'}, far.map((q) => el('li', {}, el('a', {href: jobLink(q.job.jobid)}, text(q.job.jobid)), ': ',
			el('b', {class: 'bad'}, amount(featureUnit(f.feature), q.raw))))) : dash;
	}},
], features, {caption: 'Features', cards: true});

const showAll = ({models, model, reference, jobs, all}, place) => {
	if (!model || !reference.length) {
		place.replaceChildren(empty(model ? 'None of the jobs of this model can be seen.' : 'There are no models.',
			'A reference model holds what is normal: make one from at least 3 jobs with `plimsoll model create`.'));
		return;
	}
	const scaled = state().scaled === '1', names = model.features, of = (s) => names.map((f) => featureOf(f, reference, jobs, s)).filter(Boolean);
	const raw = of(false), shown = scaled ? of(true) : raw, without = raw.filter((f) => !shown.some((g) => g.feature === f.feature));
	place.replaceChildren(el('p', {class: 'dim'}, 'The box is from quartile to quartile of ' + number(reference.length) + (reference.length < all ? ' of ' + number(all) : '') +
		' jobs of the model, with its median; the lines reach to the last value within 1.5 times its height. ',
	jobs.length ? 'The larger points are the ' + number(jobs.length) + ' jobs that are looked at; those outside are red.' : 'Enter jobs to see where they are.'),
	scaled && without.length ? el('p', {class: 'dim'}, 'Not normalised, because half of the model has one value: ' + text(without.map((f) => f.feature).join(', ')) + '.') : '',
	shown.length ? el('div', {class: scaled ? '' : 'charts'}, scaled ? draw(shown, 'distance to the median, by the distance between the quartiles; farther than ' + EDGE + ' at the edge', 'ratio') :
		shown.map((f) => draw([f], f.feature, featureUnit(f.feature)))) : '', valueTable(raw));
	sortable(place);
};

export const showBoxes = (page) => {
	const s = state(), place = el('div', {});
	const jobs = el('input', {type: 'text', class: 'code', value: [...ids(s.a), ...ids(s.b)].join(', '), name: 'jobs', autocomplete: 'off', spellcheck: 'false'});
	const model = el('select', {name: 'model'}), scaled = el('input', {type: 'checkbox', checked: s.scaled === '1', id: 'scaled'});
	let data = null;
	const go = (e) => {
		e?.preventDefault();
		setState({a: ids(jobs.value).join(','), b: null, model: model.value});
		result.reload();
	};
	scaled.addEventListener('change', () => {
		setState({scaled: scaled.checked}, {replace: true});
		if (data)
			showAll(data, place);
	});
	model.addEventListener('change', go);
	page.append(el('section', {'aria-label': 'Which jobs and model'}, el('form', {class: 'fields', onsubmit: go}, field('Model', model), field('Jobs', jobs, {wide: true}),
		el('label', {class: 'check'}, scaled, ' normalised'), el('button', {type: 'submit', class: 'main'}, 'Show'))), panel('boxes', 'Against a model', place));
	const result = fill(place, load, (loaded) => {
		data = loaded;
		model.replaceChildren(...loaded.models.map((m) => el('option', {value: m.name}, text(m.name))));
		if (known(loaded.model))
			model.value = loaded.model.name;
		showAll(loaded, place);
	});
};
