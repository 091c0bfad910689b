/* Reference models: the list, one of them, what it says of other jobs; made, switched and deleted where the server allows it. */
import {get, jobLink, name, pageLink, send, session} from './api.js';
import {dash, el, empty, failure, field, fill, known, panel, setState, state, table, text} from './view.js';
import {amount, list, number, pairs, shortTime} from './format.js';
import {featureUnit} from './features.js';
import {jobLinks} from './job_links.js';

const said = el('div', {role: 'status'});
const attempt = async (does, then) => {
	said.replaceChildren();
	try {
		await does();
		then();
	} catch (error) {
		if (error.status === undefined)
			throw error;
		said.replaceChildren(failure(error));
	}
};

/* ---- all ---- */
const actions = (m, again) => [
	el('button', {type: 'button', onclick: () => attempt(() => send('POST', 'models/' + name(m.name) + (m.enabled ? '/disable' : '/enable')), again)},
		m.enabled ? 'Disable' : 'Enable'), ' ',
	el('button', {type: 'button', class: 'danger', onclick: (e) => {
		if (e.target.dataset.sure)
			attempt(() => send('DELETE', 'models/' + name(m.name)), again);
		else {
			e.target.dataset.sure = '1';
			e.target.textContent = 'Really delete?';
		}
	}}, 'Delete')];
const showAll = (models, place, again) => {
	place.replaceChildren(models.length ? table([
		{label: 'Model', cell: (m) => el('a', {href: pageLink('models', {model: m.name})}, text(m.name))},
		{label: 'Used', kind: 'nowrap', cell: (m) => m.enabled ? 'yes' : el('span', {class: 'dim'}, 'no')},
		{label: 'Of', kind: 'nowrap', cell: (m) => text(m.of)},
		{label: 'Made from', n: true, value: (m) => m.jobs, cell: (m) => number(m.jobs) + ' jobs'},
		{label: 'For jobs with', cell: (m) => pairs(m.tags)},
		{label: 'Features', cell: (m) => list(m.features)},
		{label: 'Methods', cell: (m) => text(m.methods).replaceAll(',', ', ')},
		{label: 'Made', kind: 'nowrap', cell: (m) => shortTime(m.created)},
		...(session.write ? [{label: 'Change', kind: 'nowrap', cell: (m) => el('span', {class: 'nowrap'}, actions(m, again))}] : []),
	], models, {caption: 'Models', cards: true}) : empty('There are no models.',
		'A reference model holds what is normal: make one from at least 3 jobs with `plimsoll model create`.'));
	sortable(place);
};
const creation = (again) => {
	const input = (placeholder) => el('input', {type: 'text', class: 'code', placeholder, autocomplete: 'off', spellcheck: 'false'});
	const title = input('esm4'), where = input('tag.exp_name = ESM4'), tags = input('exp_name:ESM4'), features = input('cpu_time,duration,num_procs');
	const items = (e) => e.value.split(/[\s,]+/).filter(Boolean);
	title.required = true;
	return panel('create', 'Make a model', el('form', {class: 'fields', onsubmit: (e) => {
		e.preventDefault();
		const body = {name: title.value.trim()};
		if (where.value.trim())
			body.where = where.value.trim();
		if (items(tags).length)
			body.tags = items(tags);
		if (items(features).length)
			body.features = items(features).join(',');
		attempt(() => send('POST', 'models', body), () => {
			e.target.reset();
			again();
		});
	}}, field('Name', title), field('From jobs that match', where), field('For jobs with tags', tags), field('Features', features),
	el('button', {type: 'submit', class: 'main'}, 'Make')));
};

/* ---- one ---- */
const methodNames = {iqr: 'iqr', modified_z_score: 'madz', z_score: 'z'};
const limits = (m) => {
	const rows = [];
	for (const [method, features] of Object.entries(m.computed || {}))
		for (const [feature, numbers] of Object.entries(features || {}))
			rows.push({method: methodNames[method] || method, feature, highest: Array.isArray(numbers) ? numbers[0] : numbers,
				parameters: Array.isArray(numbers) ? numbers.slice(1) : []});
	return rows;
};
const words = {iqr: ['quartiles ', ' and '], madz: ['median ', ', median deviation '], z: ['mean ', ', standard deviation ']};
const parameters = (r) => {
	const [a, b] = r.parameters, unit = featureUnit(r.feature);
	return words[r.method] && typeof a === 'number' && typeof b === 'number' ?
		words[r.method][0] + amount(unit, a) + words[r.method][1] + amount(unit, b) : text(JSON.stringify(r.parameters));
};
const showOne = (m, place) => {
	place.replaceChildren(panel('model', 'What is normal', el('p', {class: 'dim'},
		(m.enabled ? 'Used' : 'Not used') + ', made ' + shortTime(m.created_at) +
		(Object.keys(m.tags || {}).length ? ', for jobs with ' + pairs(m.tags) : '') + '.'),
	table([{label: 'Feature', cell: (r) => text(r.feature)}, {label: 'Method', cell: (r) => text(r.method)},
		{label: 'Highest score', n: true, value: (r) => r.highest, cell: (r) => known(r.highest) ? String(r.highest) : dash},
		{label: 'What it holds', cell: parameters}],
	limits(m), {caption: 'Scores', cards: true})),
	panel('jobs', 'Made from ' + number(m.jobs.length) + ' jobs', jobLinks(m.jobs)));
	sortable(place);
};
const showOutliers = (o, place) => {
	const flagged = o.jobs.filter((j) => Object.values(j.counts).some((n) => n > 0));
	place.replaceChildren(el('p', {}, number(flagged.length) + ' of ' + number(o.jobs.length) + ' jobs are unlike the model.'), table([
		{label: 'Job', cell: (j) => el('a', {href: jobLink(j.jobid)}, text(j.jobid))},
		...o.features.map((f) => ({label: f, n: true, value: (j) => j.counts[f], cell: (j) => el('span', {class: j.counts[f] ? 'bad' : 'dim'},
			j.counts[f] ? j.counts[f] + (j.counts[f] > 1 ? ' methods' : ' method') : dash)}))], [...flagged, ...o.jobs.filter((j) => !flagged.includes(j))],
	{caption: 'Jobs'}));
	sortable(place);
};
const analysis = (model) => {
	const place = el('div', {class: 'rows'});
	const where = el('input', {type: 'text', class: 'code', value: state().where || '', placeholder: 'after = -7d', autocomplete: 'off', spellcheck: 'false'});
	let result = null;
	const go = (e) => {
		e?.preventDefault();
		setState({where: where.value.trim()});
		if (result)
			result.reload();
		else
			result = fill(place, (signal) => get('outliers', {model, where: state().where}, signal), showOutliers);
	};
	if (state().where)
		go();
	return panel('analysis', 'Compare jobs with it', el('form', {class: 'fields', onsubmit: go}, field('Jobs that match', where, {wide: true}),
		el('button', {type: 'submit', class: 'main'}, 'Compare')), place);
};

export const show = (page) => {
	const {model} = state(), place = el('div', {});
	if (model) {
		page.replaceChildren(el('h1', {}, 'Model ' + text(model)), el('p', {}, el('a', {href: pageLink('models')}, 'All models')), place, analysis(model));
		fill(place, (signal) => get('models/' + name(model), {}, signal), showOne);
		return;
	}
	const models = fill(place, (signal) => get('models', {}, signal), (m, where) => showAll(m, where, () => models.reload()));
	page.replaceChildren(el('h1', {}, 'Models'), said, el('section', {'aria-label': 'Models'}, place),
		session.write ? creation(() => models.reload()) : '');
};
