/* Submissions that could not be stored, with their reasons; submitted again where the server allows it. */
import {get, mayAs, name, send, session} from './api.js';
import {dash, el, empty, failure, fill, known, table, text} from './view.js';
import {number, shortTime} from './format.js';

const retry = (input, again) => {
	const said = el('div', {role: 'status'});
	const button = el('button', {type: 'button', onclick: async () => {
		button.disabled = true;
		said.replaceChildren('Submitting\u2026');
		try {
			await send('POST', 'inbox/' + name(input.name) + '/retry');
			again();
		} catch (error) {
			if (error.status === undefined)
				throw error;
			button.disabled = false;
			said.replaceChildren(failure(error));
		}
	}}, 'Submit again');
	return el('div', {}, button, said);
};
const showInputs = (inbox, place, again) => {
	place.replaceChildren(el('p', {class: 'dim'}, number(inbox.failed.length) + ' failed in ', el('code', {}, text(inbox.directory))),
		inbox.failed.length ? table([
			{label: 'Submission', cell: (i) => text(i.name)},
			{label: 'Since', kind: 'nowrap', cell: (i) => shortTime(i.changed)},
			{label: 'Size', n: true, value: (i) => i.bytes, cell: (i) => known(i.bytes) ? values.value('bytes', i.bytes) : dash},
			{label: 'Reason', kind: 'w', cell: (i) => text(i.reason || 'unknown')},
			...(session.write && mayAs('admin') ? [{label: 'Again', kind: 'nowrap', cell: (i) => retry(i, again)}] : []),
		], inbox.failed, {caption: 'Failed submissions', cards: true}) : empty('Nothing failed.', 'Everything that arrived was stored.'));
	sortable(place);
};

export const show = (page) => {
	const place = el('div', {});
	const load = async (signal) => {
		try {
			return await get('inbox', {}, signal);
		} catch (error) {
			if (error.status !== 404)
				throw error;
			return error; /* there is no such directory, or none was set */
		}
	};
	const inputs = fill(place, load, (inbox, where) => inbox.failed ? showInputs(inbox, where, () => inputs.reload()) :
		where.replaceChildren(empty('No directory of failed submissions.', inbox.message, ...(inbox.remedy ? [inbox.remedy] : []))));
	page.replaceChildren(el('h1', {}, 'Inbox'), el('section', {'aria-label': 'Failed submissions'}, place));
};
