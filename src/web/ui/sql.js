/* A console for statements that read, with the schema beside it. */
import {get, save, send} from './api.js';
import {el, empty, failure, fill, loading, panel, setState, state, text} from './view.js';
import {number} from './format.js';

const LIMIT = 1000, FILE_LIMIT = 100000; /* rows on the page, and of a file */
const files = [
	['Download CSV', 'text/csv', 'rows.csv'],
	['Download Parquet', 'application/vnd.apache.parquet', 'rows.parquet'],
];
const examples = [
	['CPU time by user', 'SELECT user, count(*) AS jobs, sum(cpu_time) / 3600e6 AS cpu_hours\nFROM jobs GROUP BY user ORDER BY cpu_hours DESC'],
	['Programs that run most often', 'SELECT exename, count(*) AS processes, sum(cpu_time) / 1e6 AS cpu_s\nFROM processes GROUP BY exename ORDER BY processes DESC LIMIT 20'],
	['Jobs by tag', 'SELECT key, value, count(*) AS jobs\nFROM job_tags GROUP BY key, value ORDER BY jobs DESC'],
];
const columnsOf = (data) => data.columns.map((c) => typeof c === 'string' ? c : c.name);
const cell = (v) => v === null ? el('td', {class: 'n dim'}, 'NULL') : typeof v === 'number' ?
	el('td', {class: 'n', 'data-v': v}, String(v)) : el('td', {class: 't'}, text(typeof v === 'object' ? JSON.stringify(v) : v));
const showRows = (data, place, ms) => {
	const names = columnsOf(data), numeric = names.map((_, i) => data.rows.some((r) => typeof r[i] === 'number'));
	place.replaceChildren(el('p', {class: 'dim', role: 'status'}, number(data.rows.length) + (data.rows.length === 1 ? ' row' : ' rows') +
		(data.truncated ? ', the first ones; a file has up to ' + number(FILE_LIMIT) : '') + ', ' + values.duration(ms * 1000)),
	data.rows.length ? el('div', {class: 'scroll'}, el('table', {class: 'sortable'}, el('caption', {class: 'spoken'}, 'Rows'),
		el('thead', {}, el('tr', {}, names.map((n, i) => el('th', {scope: 'col', class: numeric[i] ? 'n' : null}, text(n))))),
		el('tbody', {}, data.rows.map((r) => el('tr', {}, r.map(cell)))))) : empty('The statement gives no rows.'));
	sortable(place);
};

export const show = (page) => {
	const input = el('textarea', {id: 'sql', rows: '7', spellcheck: 'false', 'aria-label': 'SQL statement',
		autocomplete: 'off', placeholder: 'SELECT jobid, duration FROM jobs WHERE exitcode != 0'});
	const place = el('div', {id: 'rows'}), run = el('button', {type: 'submit', class: 'main'}, 'Run');
	const stop = el('button', {type: 'button', hidden: true}, 'Stop');
	const downloads = files.map(([label, accept, name]) => el('button', {type: 'button', onclick: () => work(async (signal) => save(
		await send('POST', 'sql', {sql: input.value.trim(), limit: FILE_LIMIT}, {accept, signal}), name))}, label));
	const busy = (on) => [run, ...downloads].forEach((b) => { b.disabled = on; });
	const schema = el('aside', {'aria-label': 'Schema'});
	let control = null;
	input.value = state().sql || examples[0][1];

	const work = async (does) => {
		control?.abort();
		control = new AbortController();
		stop.hidden = false;
		busy(true);
		try {
			await does(control.signal);
		} catch (error) {
			if (error.name !== 'AbortError' && error.status === undefined)
				throw error;
			place.replaceChildren(error.name === 'AbortError' ? empty('Stopped.') : failure(error));
		} finally {
			stop.hidden = true;
			busy(false);
		}
	};
	const go = (e) => {
		e?.preventDefault();
		const sql = input.value.trim();
		if (!sql)
			return;
		setState({sql});
		place.replaceChildren(loading('Running'));
		work(async (signal) => {
			const from = performance.now();
			const data = await send('POST', 'sql', {sql, limit: LIMIT}, {signal});
			showRows(data, place, performance.now() - from);
		});
	};
	stop.addEventListener('click', () => control.abort());
	input.addEventListener('keydown', (e) => {
		if (e.key === 'Enter' && (e.ctrlKey || e.metaKey))
			go(e);
	});
	const insert = (word) => {
		input.setRangeText(word, input.selectionStart, input.selectionEnd, 'end');
		input.focus();
	};
	page.replaceChildren(el('h1', {}, 'SQL'), el('div', {class: 'sql'}, el('div', {}, panel('statement', 'Statement',
		el('form', {onsubmit: go}, input, el('div', {class: 'bar-line top'}, run, stop, downloads,
			el('span', {class: 'dim'}, 'Ctrl+Enter runs it. Statements can only read.'))),
		el('details', {}, el('summary', {}, 'Examples'), el('ul', {class: 'examples'}, examples.map(([label, sql]) => el('li', {},
			el('button', {type: 'button', class: 'plain', onclick: () => {
				input.value = sql;
				go();
			}}, label)))))), panel('result', 'Rows', place)), schema));
	place.append(empty('Nothing was run yet.'));
	fill(schema, (signal) => get('schema', {}, signal), (data, where) => where.replaceChildren(el('h2', {}, 'Schema'),
		el('p', {class: 'dim'}, 'Views of the store', data.engine ? ' (' + text(data.engine) + ')' : '', '. Times are microseconds.'),
		...data.views.map((v) => el('details', {}, el('summary', {title: v.help}, text(v.name)), el('ul', {}, v.columns.map((c) =>
			el('li', {title: c.help}, el('button', {type: 'button', onclick: () => insert(c.name)}, text(c.name)),
				el('span', {class: 'dim'}, text(c.unit || c.type || '')))))))));
	if (state().sql)
		go();
	addEventListener('popstate', () => { input.value = state().sql || ''; });
};
