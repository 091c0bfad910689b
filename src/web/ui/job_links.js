/* Jobs as links, the first ones and the rest on demand. */
import {el, text} from './view.js';
import {jobLink} from './api.js';

/* The ids in a text, and in a part of a link. */
export const ids = (words) => (words || '').split(/[\s,]+/).filter(Boolean);

/* A value in a filter. */
export const quoted = (value) => "'" + String(value).replaceAll("'", "''") + "'";

const MOST = 12;
export const jobLinks = (ids) => {
	const one = (id) => el('li', {}, el('a', {href: jobLink(id)}, text(id)));
	const list = el('ul', {class: 'inline'}, ids.slice(0, MOST).map(one));
	if (ids.length > MOST)
		list.append(el('li', {}, el('button', {type: 'button', class: 'plain', onclick: (e) => {
			e.target.parentElement.remove();
			list.append(...ids.slice(MOST).map(one));
		}}, 'and ' + (ids.length - MOST) + ' more')));
	return list;
};
