/* What the page of a job adds to its report: all processes, their threads, what to ask the batch system for. */
import {get} from './api.js';
import {choice, dash, el, empty, field, fill, known, panel, sentence, settled, table, text} from './view.js';
import {amount, number, pairs, time} from './format.js';
import {featureUnit} from './features.js';
import {quoted} from './job_links.js';

/* Asks only when it is first looked at. */
const whenSeen = (place, begin) => {
	const observer = new IntersectionObserver((entries) => {
		if (entries.some((e) => e.isIntersecting)) {
			observer.disconnect();
			begin();
		}
	}, {rootMargin: '30% 0px'});
	observer.observe(place);
};

const ended = (p) => known(p.exitsignal) && p.exitsignal > 0 ? 'signal ' + p.exitsignal :
	known(p.exitcode) ? String(p.exitcode) : dash;
const failed = (p) => p.exitsignal > 0 || p.exitcode > 0;
const choose = (pid) => dispatchEvent(new CustomEvent('plimsoll-process', {detail: {pid}}));
const processColumns = [
	{label: 'PID', n: true, value: (p) => p.pid, cell: (p) => el('button', {type: 'button', class: 'plain',
		title: 'all about it, and its threads', onclick: () => choose(p.pid)}, String(p.pid))},
	{label: 'Program', cell: (p) => el('span', {title: text(p.path || '')}, text(p.exename))},
	{label: 'Arguments', cell: (p) => el('span', {title: text(p.args || '')}, values.shorten(text(p.args || ''), 120))},
	{label: 'Host', cell: (p) => text(p.hostname || dash)},
	{label: 'Start', cell: (p) => el('span', {title: time(p.start)}, known(p.start) ? p.start.slice(11, 23) : dash)},
	{label: 'Duration', n: true, value: (p) => p.duration, cell: (p) => amount('us', p.duration)},
	{label: 'CPU time', n: true, value: (p) => p.cpu_time, cell: (p) => amount('us', p.cpu_time)},
	{label: 'with children', n: true, value: (p) => p.inclusive_cpu_time, cell: (p) => amount('us', p.inclusive_cpu_time)},
	{label: 'Memory', n: true, value: (p) => p.rssmax, cell: (p) => amount('KiB', p.rssmax)},
	{label: 'Exit', n: true, value: (p) => p.exitcode, cell: (p) => el('span', {class: failed(p) ? 'bad' : null}, ended(p))},
];
const orders = [['-cpu_time', 'most CPU time first'], ['-inclusive_cpu_time', 'most CPU time with children first'],
	['start', 'in the order they started'], ['-duration', 'longest first'], ['-rssmax', 'most memory first']];

export const processList = (at) => {
	const LIMIT = 100;
	const where = el('input', {type: 'search', class: 'code', placeholder: 'exename = cc1 and cpu_time > 1s',
		autocomplete: 'off', spellcheck: 'false'});
	const order = choice(orders);
	const which = choice([['', 'any'], ['exitcode != 0 or exitsignal > 0', 'failed']]);
	const place = el('div', {class: 'rows'});
	const tail = el('p', {class: 'bar-line'});
	let offset = 0, list = null;
	const reload = (to = 0) => {
		offset = to;
		list?.reload();
	};
	where.addEventListener('input', settled(() => reload()));
	order.addEventListener('change', () => reload());
	which.addEventListener('change', () => reload());
	const filter = () => [where.value.trim(), which.value].filter(Boolean).map((f) => '(' + f + ')').join(' and ');
	const showRows = (rows, where) => {
		const last = rows.length <= LIMIT;
		rows = rows.slice(0, LIMIT);
		where.replaceChildren(rows.length ? table(processColumns, rows, {caption: 'Processes'}) :
			empty('No process matches.'));
		sortable(where);
		tail.replaceChildren(...[rows.length ? el('span', {class: 'dim'}, number(offset + 1) + '\u2013' +
			number(offset + rows.length)) : '',
		offset ? el('button', {type: 'button', onclick: () => reload(offset - LIMIT)}, 'Previous') : '',
		last ? '' : el('button', {type: 'button', onclick: () => reload(offset + LIMIT)}, 'Next')].filter(Boolean));
	};
	addEventListener('plimsoll-news', () => list?.reload());
	/* a click on a bar of several processes, over time, lists them */
	addEventListener('plimsoll-process', ({detail}) => {
		if (detail.pid)
			return;
		where.value = 'exename = ' + quoted(detail.name);
		reload();
		document.getElementById('process-list').scrollIntoView();
	});
	whenSeen(place, () => {
		list = fill(place, (signal) => get(at('procs'), {where: filter(), order: order.value, limit: LIMIT + 1, offset},
			signal), showRows);
	});
	return panel('process-list', 'List of processes', el('div', {class: 'fields'}, field('Filter', where, {wide: true}),
		field('Order', order), field('Ended', which)), place, tail);
};

/* Each value of a process, or of its program where it ran several one after the other. */
const words = {hostname: 'Host', exename: 'Program', path: 'Path', args: 'Arguments', ended: 'Ended', exitcode: 'Exit status', exitsignal: 'Signal', ppid: 'Parent',
	start: 'Start', end: 'End', duration: 'Duration', cpu_time: 'CPU time', inclusive_cpu_time: 'CPU time with children', exclusive_time: 'Without children',
	rssmax: 'Largest memory',
	tags: 'Tags', source: 'Recorded by', children: 'Children', descendants: 'All below it'};
const hidden = new Set(['id', 'generation', 'argv', 'forked', 'depth', 'pid', 'parent', 'starttime']);
const written = (key, v) => key === 'ppid' && v > 0 ? el('button', {type: 'button', class: 'plain', onclick: () => choose(v)}, String(v)) :
	typeof v === 'string' ? text(key === 'start' || key === 'end' ? time(v) + v.slice(19, 23) : v) : typeof v === 'object' ? pairs(v) :
		key.includes('id') || key.startsWith('exit') ? String(v) : amount(featureUnit(key), v);
const showProcess = (p) => el('div', {class: 'process'}, el('h3', {}, 'Process ' + p.pid + ', ' + text(p.exename)),
	el('dl', {class: 'facts'}, [...Object.keys(words), ...Object.keys(p).filter((key) => !Object.hasOwn(words, key) && !hidden.has(key))]
		.filter((key) => known(p[key]) && !(typeof p[key] === 'object' && !Object.keys(p[key]).length)).map((key) =>
			el('div', {class: key === 'args' || key === 'path' ? 'whole' : null}, el('dt', {}, words[key] || key), el('dd', {}, written(key, p[key]))))));

export const threadList = (at) => {
	const pid = el('input', {type: 'number', min: '1', step: '1', inputmode: 'numeric'});
	const place = el('div', {class: 'rows', 'aria-live': 'polite'});
	const columns = [
		{label: 'TID', n: true, value: (t) => t.tid, cell: (t) => known(t.tid) ? String(t.tid) : dash},
		{label: 'Program', cell: (t) => text(t.exename)},
		{label: 'Start', cell: (t) => known(t.start) ? t.start.slice(11, 23) : dash},
		{label: 'Duration', n: true, value: (t) => t.duration, cell: (t) => amount('us', t.duration)},
		{label: 'CPU time', n: true, value: (t) => t.cpu_time, cell: (t) => amount('us', t.cpu_time)},
		{label: 'Waited for a CPU', n: true, value: (t) => t.time_waiting, cell: (t) => amount('ns', t.time_waiting)},
		{label: 'Switches', n: true, value: (t) => t.vol_ctxsw, cell: (t) => number(t.vol_ctxsw)},
		{label: 'Read', n: true, value: (t) => t.rchar, cell: (t) => amount('bytes', t.rchar)},
		{label: 'Written', n: true, value: (t) => t.wchar, cell: (t) => amount('bytes', t.wchar)},
	];
	const showDetail = (found, where) => {
		if (!found)
			where.replaceChildren(empty('Enter the PID of a process.', 'Or click on a PID in the list of processes, or on a process in the picture over time.'));
		else if (!found.processes.length)
			where.replaceChildren(empty('No process of this job has this PID.'));
		else
			where.replaceChildren(...found.processes.map(showProcess), el('h3', {}, 'Threads'), found.threads.length ?
				table(columns, found.threads, {caption: 'Threads'}) : empty('Its threads were not recorded.'));
		sortable(where);
	};
	let list = null;
	const begin = () => {
		if (list)
			list.reload();
		else
			list = fill(place, async (signal) => !pid.value ? null : {processes: await get(at('procs'), {pid: pid.value, limit: 50}, signal),
				threads: await get(at('threads'), {pid: pid.value}, signal)}, showDetail);
	};
	pid.addEventListener('input', settled(begin));
	addEventListener('plimsoll-process', ({detail}) => {
		if (!detail.pid)
			return;
		pid.value = detail.pid;
		begin();
		document.getElementById('thread-list').scrollIntoView();
	});
	whenSeen(place, begin);
	return panel('thread-list', 'A process and its threads', el('div', {class: 'fields'}, field('Process (PID)', pid)), place);
};

const shown = {cores: (v) => number(v), gpus: (v) => number(v), memory: (v) => values.value('bytes', v),
	time: (v) => values.duration(v * 1e6)};
export const requestAdvice = (at, stored) => {
	const place = el('div', {class: 'rows'});
	const amountOf = (item, v) => known(v) ? (shown[item] || String)(v) : dash;
	const columns = [
		{label: 'Resource', cell: (r) => text(r.item)},
		{label: 'Asked for', n: true, cell: (r) => amountOf(r.item, r.asked)},
		{label: 'Used', n: true, cell: (r) => amountOf(r.item, r.used)},
		{label: 'Suggested', n: true, cell: (r) => amountOf(r.item, r.suggested)},
		{label: 'Directive', cell: (r) => r.directive ? el('code', {}, text(r.directive)) :
			el('span', {class: 'dim'}, sentence(r.reason || dash))},
		{label: 'Note', cell: (r) => text(r.note || (r.past_runs ? r.past_runs_fit + ' of ' + r.past_runs +
			' earlier runs would fit' : ''))},
	];
	let list = null;
	addEventListener('plimsoll-news', () => list?.reload());
	whenSeen(place, () => {
		list = fill(place, (signal) => stored() ? get(at('advise'), {}, signal) : Promise.resolve(null), showAdvice);
	});
	const showAdvice = (advice, where) => {
		if (!advice) {
			where.replaceChildren(empty('Advice is given when the job is in the store.'));
			return;
		}
		const rows = (Array.isArray(advice) ? advice[0] : advice)?.request || [];
		where.replaceChildren(rows.length ? table(columns, rows, {caption: 'Request'}) :
			empty('Nothing is known of what this job used.'),
		el('p', {class: 'dim'}, sentence('The same as `plimsoll advise`; earlier runs of the same command are taken into account.')));
		sortable(where);
	};
	return panel('advice', 'What to ask for next time', place);
};
