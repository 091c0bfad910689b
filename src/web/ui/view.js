/* Pieces that all pages are made of: elements, places that fill from the server, the state in the link. */
import {openSession, session} from './api.js';

/* el('button', {class: 'x', onclick: f, disabled: true}, ...inside): null and false attributes are left out. */
export const el = (name, attributes = {}, ...inside) => {
	const e = elements.html(name, {});
	for (const [key, value] of Object.entries(attributes))
		if (typeof value === 'function')
			e.addEventListener(key.slice(2), value);
		else if (value !== null && value !== undefined && value !== false)
			e.setAttribute(key, value === true ? '' : value);
	e.append(...inside.flat().filter((x) => x !== null && x !== undefined && x !== false));
	return e;
};
export const text = (value) => values.visible(value);
/* `code` in a sentence becomes code */
export const sentence = (words) => text(words).split('`').map((part, i) => i % 2 ? el('code', {}, part) : part);
export const known = (value) => value !== null && value !== undefined && value !== '';
export const dash = '\u2013';

export const panel = (id, title, ...inside) => el('section', {id, 'aria-labelledby': id + '-title'},
	el('h2', {id: id + '-title'}, title), ...inside);
export const empty = (title, ...hints) => el('div', {class: 'empty'}, el('p', {class: 'empty-title'}, title),
	hints.map((hint) => el('p', {class: 'dim'}, sentence(hint))));
export const loading = (what = 'Loading') => el('p', {class: 'loading dim', role: 'status'}, what + '\u2026');

const titles = {0: 'The server does not answer', 401: 'Not signed in', 403: 'Not allowed', 404: 'Not found',
	503: 'The store cannot be read', 504: 'This took too long'};
export const failure = (error, ...more) => el('div', {class: 'finding severe', role: 'alert'},
	el('h3', {}, titles[error.status] || 'This did not work'), el('p', {}, sentence(error.message)),
	error.remedy ? el('p', {}, sentence(error.remedy)) : null,
	error.login ? el('p', {}, el('a', {href: error.login, target: '_blank'}, 'Sign in')) : null, ...more);

/*
 * Fills a place from the server. ask(signal) gets the data, show(data, place) puts them there. What fails is said in
 * the place, above what it had before, and tried again until it succeeds if it may pass. echo: another place asks for the
 * same and says what is wrong with the request. Returns {reload, stop}.
 */
export const fill = (place, ask, show, {every = 0, quiet = false, echo = false} = {}) => {
	let round = 0, control = null, timer = 0, box = null, failures = 0, ended = false;
	const later = (ms) => {
		clearTimeout(timer);
		timer = setTimeout(() => document.hidden ? later(ms) : load(), ms);
	};
	const clear = () => {
		box?.remove();
		box = null;
		place.classList.remove('stale');
		place.removeAttribute('aria-busy');
	};
	const complain = (error) => {
		clear();
		if (!error.passing)
			place.replaceChildren();
		if (echo && (error.status === 400 || error.status === 404))
			return;
		place.classList.add('stale');
		box = failure(error, error.passing ? el('p', {class: 'dim'}, 'Trying again\u2026 ',
			el('button', {type: 'button', onclick: load}, 'Try now')) : null);
		if (quiet && error.passing)
			return;
		place.querySelector(':scope > .loading')?.remove();
		place.prepend(box);
	};
	const load = async () => {
		const mine = ++round;
		control?.abort();
		control = new AbortController();
		clearTimeout(timer);
		const slow = setTimeout(() => {
			place.setAttribute('aria-busy', 'true');
			if (!place.firstChild && !quiet)
				place.append(loading());
		}, 150);
		try {
			if (failures || !session.csrf)
				await openSession(control.signal); /* a server that was started again has new sessions */
			const data = await ask(control.signal);
			if (mine !== round || ended)
				return;
			failures = 0;
			clear();
			show(data, place);
			if (every)
				later(every);
		} catch (error) {
			if (error.name === 'AbortError' || mine !== round || ended)
				return;
			if (error.status === undefined)
				throw error; /* a mistake of ours belongs on the console */
			complain(error);
			if (error.passing)
				later(Math.min(10000, 1000 * 2 ** failures++));
		} finally {
			clearTimeout(slow);
		}
	};
	load();
	return {reload: load, stop: () => {
		ended = true;
		clearTimeout(timer);
		control?.abort();
	}};
};

/* ---- the link is the state ---- */
export const state = () => Object.fromEntries(new URLSearchParams(location.search));
/* changes: names and values; an empty value leaves the link. */
export const setState = (changes, {replace = false} = {}) => {
	const url = new URL(location.href);
	for (const [key, value] of Object.entries(changes))
		if (known(value) && value !== false)
			url.searchParams.set(key, value === true ? '1' : value);
		else
			url.searchParams.delete(key);
	if (url.href !== location.href)
		history[replace ? 'replaceState' : 'pushState'](null, '', url);
};

/* Calls after a pause of typing. */
export const settled = (call, ms = 250) => {
	let timer = 0;
	return (...args) => {
		clearTimeout(timer);
		timer = setTimeout(() => call(...args), ms);
	};
};

/* ---- forms and tables ---- */
let fields = 0;
export const field = (label, input, {wide = false} = {}) => {
	input.id = input.id || 'field-' + ++fields;
	return el('div', {class: wide ? 'field wide' : 'field'}, el('label', {for: input.id}, label), input);
};
export const choice = (options, chosen, attributes = {}) => {
	const e = el('select', attributes, options.map(([value, label]) => el('option', {value}, label)));
	e.value = chosen ?? options[0][0];
	return e;
};
/*
 * columns: [{label, n, kind, cell(row), value(row), title}]; cards: rows become cards on narrow screens. A sortable table that folds its end away (tables.js). The caller
 * puts it into the page and then calls sortable() of its place.
 */
export const table = (columns, rows, {caption, id, cards} = {}) => el('div', {class: 'scroll'},
	el('table', {class: cards ? 'sortable cards' : 'sortable', id}, caption ? el('caption', {class: 'spoken'}, caption) : null,
		el('thead', {}, el('tr', {}, columns.map((c) => el('th', {scope: 'col', class: c.n ? 'n' : null,
			title: c.title}, c.label)))),
		el('tbody', {}, rows.map((row) => el('tr', {class: row.rowClass}, columns.map((c) => {
			const v = c.value ? c.value(row) : null, cell = c.cell(row);
			return el('td', {class: c.n ? 'n' : c.kind || 't', 'data-label': cards && known(cell) && cell !== '' ? c.label : null, 'data-v': c.n && Number.isFinite(v) ? v : null},
				cell ?? dash);
		}))))));
