/* Tags and annotations of a job, to be changed where the server allows it. */
import {get, send} from './api.js';
import {el, failure, fill, panel, sentence, text} from './view.js';

/* An annotation is any JSON; what is none is text, as in `plimsoll annotate`. */
const toText = (value) => typeof value === 'string' && !isJson(value) ? value : JSON.stringify(value);
const isJson = (word) => {
	try {
		JSON.parse(word);
		return true;
	} catch {
		return false;
	}
};
const fromText = (word) => isJson(word) ? JSON.parse(word) : word;

const editTable = (what, entries, {label, decode, encode, write, keep}) => {
	const body = el('tbody', {}), said = el('span', {class: 'said', role: 'status'});
	const row = (key = '', value = '') => {
		const name = el('input', {value: key, 'aria-label': 'name', spellcheck: 'false', class: 'key'});
		const content = el('input', {value: encode(value), 'aria-label': 'value', spellcheck: 'false', class: 'value'});
		const tr = el('tr', {}, el('td', {}, name), el('td', {}, content),
			el('td', {}, el('button', {type: 'button', 'aria-label': 'remove ' + key, onclick: () => tr.remove()}, 'Remove')));
		return tr;
	};
	const readonly = ([key, value]) => el('tr', {}, el('td', {}, text(key)), el('td', {}, text(encode(value))));
	body.append(...Object.entries(entries).map((e) => write ? row(...e) : readonly(e)));
	const save = async (e) => {
		e.preventDefault();
		const all = {};
		for (const tr of body.rows) {
			const key = tr.querySelector('.key').value.trim();
			if (key)
				all[key] = decode(tr.querySelector('.value').value);
		}
		said.replaceChildren('Saving\u2026');
		try {
			await keep(all);
			said.replaceChildren('Saved.');
		} catch (error) {
			said.replaceChildren(failure(error));
		}
	};
	const rows = el('table', {'aria-label': label}, el('thead', {}, el('tr', {}, el('th', {scope: 'col'}, 'Name'),
		el('th', {scope: 'col'}, 'Value'), write ? el('th', {}, el('span', {class: 'spoken'}, 'Remove')) : null)), body);
	if (!write)
		return Object.keys(entries).length ? [el('h3', {}, label), rows] : [];
	return [el('h3', {}, label), el('form', {class: 'editor', id: 'edit-' + what, onsubmit: save}, rows,
		el('div', {class: 'bar-line'}, el('button', {type: 'button', onclick: () => {
			const tr = row();
			body.append(tr);
			tr.querySelector('input').focus();
		}}, 'Add'), el('button', {type: 'submit', class: 'main'}, 'Save'), said))];
};

/* at(what) is the path of a part of the job in the API. */
export const editor = (at, write) => {
	if (!write)
		return null;
	const place = el('div', {});
	fill(place, (signal) => get(at(), {}, signal), (job, where) => where.replaceChildren(
		...editTable('tags', job.tags || {}, {label: 'Tags', write, encode: String, decode: String,
			keep: (tags) => send('PUT', at('tags'), {tags})}),
		...editTable('annotations', job.annotations || {}, {label: 'Annotations', write, encode: toText,
			decode: fromText, keep: (annotations) => send('PUT', at('annotations'), {annotations})}),
		el('p', {class: 'dim'}, sentence('Numbers, `true`, lists and other JSON keep their type; anything else is text.'))));
	return panel('edit', 'Change tags and annotations', place);
};
