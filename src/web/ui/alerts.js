/* Outliers that the daemon and `plimsoll analyze` found, until somebody acknowledges them. */
import {get, jobLink, mayAs, name, pageLink, send, session} from './api.js';
import {dash, el, empty, failure, fill, known, setState, state, table, text} from './view.js';
import {featureUnit} from './features.js';
import {amount, number, shortTime} from './format.js';

const unusual = (a) => el('ul', {class: 'plain-list'}, a.outliers.map((o) => el('li', {}, text(o.feature) + ' ',
	el('b', {}, amount(featureUnit(o.feature), o.value)), ', typical ' + amount(featureUnit(o.feature), o.typical),
	el('span', {class: 'dim'}, ' (' + Object.keys(o.methods || {}).join(', ') + ')'))));
const acknowledge = (a, again) => {
	const note = el('input', {type: 'text', placeholder: 'note', 'aria-label': 'note on job ' + text(a.jobid)});
	const said = el('div', {role: 'status'});
	return el('form', {class: 'bar-line', onsubmit: async (e) => {
		e.preventDefault();
		try {
			await send('POST', 'jobs/' + name(a.jobid) + '/acknowledge', {note: note.value});
			again();
		} catch (error) {
			if (error.status === undefined)
				throw error;
			said.replaceChildren(failure(error));
		}
	}}, note, el('button', {type: 'submit'}, 'Acknowledge'), said);
};
const handled = (a) => known(a.acknowledged) ? el('span', {}, shortTime(a.acknowledged) + ' by ' + text(a.acknowledged_by || dash),
	a.note ? el('div', {class: 'dim'}, text(a.note)) : null) : null;
const showAlerts = (alerts, place, again) => {
	const all = state().all === '1';
	place.replaceChildren(el('p', {class: 'dim', role: 'status'}, number(alerts.length) + (alerts.length === 1 ? ' alert' : ' alerts')),
		alerts.length ? table([
			{label: 'Job', kind: 't', cell: (a) => el('span', {}, el('a', {href: jobLink(a.jobid)}, text(a.jobid)),
				a.jobname ? el('div', {class: 'dim'}, text(a.jobname)) : null)},
			{label: 'User', kind: 'nowrap', cell: (a) => text(a.user || '')},
			{label: 'Found', kind: 'nowrap', cell: (a) => shortTime(a.found)},
			{label: 'Compared with', kind: 'nowrap', cell: (a) => a.model ? el('a', {href: pageLink('models', {model: a.model})}, text(a.model)) : 'jobs like it'},
			{label: 'Unusual', kind: 'w', cell: unusual},
			...(all || session.write && mayAs('support') ? [{label: 'Acknowledged', cell: (a) => handled(a) || (session.write && mayAs('support') ? acknowledge(a, again) : '')}] : []),
		], alerts, {caption: 'Alerts', cards: true}) : empty(all ? 'There are no alerts.' : 'Nothing is waiting to be looked at.',
			'`plimsoll analyze` and the daemon look for jobs that are unlike others.'));
	sortable(place);
};

export const show = (page) => {
	const place = el('div', {}), all = el('input', {type: 'checkbox', checked: state().all === '1', id: 'all-alerts'});
	const alerts = fill(place, (signal) => get('alerts', {all: state().all === '1'}, signal),
		(list, where) => showAlerts(list, where, () => alerts.reload()));
	all.addEventListener('change', () => {
		setState({all: all.checked}, {replace: true});
		alerts.reload();
	});
	page.replaceChildren(el('h1', {}, 'Alerts'), el('section', {'aria-label': 'Alerts'}, el('label', {class: 'check'}, all,
		' also acknowledged ones'), place));
};
