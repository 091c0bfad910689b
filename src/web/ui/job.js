/* One job: what is known at once, then its report with what only a server can add to it. */
import {apiLink, get, getText, name, pageLink, root, session} from './api.js';
import {dash, el, failure, fill, known, loading, text} from './view.js';
import {amount, number, outcome, time} from './format.js';
import {processList, requestAdvice, threadList} from './job_lists.js';
import {editor} from './job_editor.js';
import {runScripts} from './over_time.js';

const id = decodeURIComponent(location.pathname.slice(root.pathname.length + 'job/'.length).replace(/\/$/, ''));
const at = (what = '') => 'jobs/' + name(id) + (what && '/' + what);

/* ---- the head ---- */
const exports = [['csv', 'CSV'], ['parquet', 'Parquet'], ['json', 'JSON'], ['jsonl', 'JSON lines'], ['feather', 'Feather'],
	['orc', 'ORC'], ['hdf5', 'HDF5'], ['sqlite', 'SQLite'], ['pickle', 'pandas pickle']];
const exportMenu = () => el('details', {class: 'menu'}, el('summary', {}, 'Export'), el('div', {},
	el('p', {class: 'dim'}, 'The processes as a table'),
	exports.map(([format, label]) => el('a', {href: apiLink(at('export'), {format}), download: ''}, label)),
	el('p', {class: 'dim'}, 'The report'),
	el('a', {href: apiLink(at('page')), download: 'report-' + id.replace(/[^\w.-]+/g, '_') + '.html'}, 'HTML, one file'),
	el('a', {href: apiLink(at('report')), download: 'report-' + id.replace(/[^\w.-]+/g, '_') + '.json'}, 'JSON')));
const tile = (label, value) => el('div', {class: 'figure'}, el('dt', {}, label), el('dd', {}, value));
const until = (job) => time(job.end).slice(job.start?.slice(0, 10) === job.end.slice(0, 10) ? 11 : 0);
const showHead = (job, place) => {
	const [kind, said] = outcome(job);
	const where = [job.user ? 'user ' + job.user : '', job.hosts?.length ? (job.hosts.length > 1 ? 'hosts ' : 'host ') +
		job.hosts.slice(0, 8).join(', ') + (job.hosts.length > 8 ? ' and ' + (job.hosts.length - 8) + ' more' : '') : '',
	known(job.start) ? time(job.start) + (known(job.end) ? ' to ' + until(job) : '') : ''].filter(Boolean).join(', ');
	document.title = 'Job ' + text(job.jobid) + ' \u2013 Plimsoll';
	place.replaceChildren(
		el('h1', {}, 'Job ' + text(job.jobid) + (job.jobname ? ', ' + text(job.jobname) : '')),
		el('p', {class: 'dim'}, el('span', {class: 'status ' + kind, id: 'job-status'}, said), ' \u00b7 ', text(where)),
		job.command ? el('p', {}, el('code', {}, values.shorten(text(job.command), 400))) : '',
		el('div', {class: 'bar-line'},
			el('a', {class: 'button', href: pageLink('compare', {b: id})}, 'Compare'),
			el('a', {class: 'button', href: pageLink('compare', {view: 'history', job: id})}, 'History'),
			job.user ? el('a', {class: 'button', href: pageLink('', {user: job.user})}, 'Jobs of ' + text(job.user)) : '',
			exportMenu()));
	const busy = job.duration > 0 && known(job.cpu_time) ? (job.cpu_time / job.duration).toFixed(2) : dash;
	document.getElementById('job-figures').replaceChildren(el('dl', {class: 'figures'},
		tile('Duration', amount('us', job.duration)), tile('CPU time', amount('us', job.cpu_time)),
		tile('CPUs busy', busy), tile('Processes', number(job.processes)), tile('Threads', number(job.num_threads)),
		tile('Largest process', amount('KiB', job.peaks?.rssmax))));
};

/* ---- the report ---- */
let round = 0;
/* Its sections become ours, and its scripts run on them, as in the file. */
const showReport = async (markup, place) => {
	/* its style is that of these pages, whose policy allows no other */
	const report = new DOMParser().parseFromString(markup.replace(/<style>[^]*?<\/style>/g, ''), 'text/html');
	const contents = report.getElementById('contents'), data = report.getElementById('report-data');
	const old = place.querySelector('.sections'), scroll = scrollY;
	const sections = el('div', {class: 'sections'}, [...report.querySelectorAll('main > section')]);
	const opened = new Set([...old?.querySelectorAll('details[open]') || []].map((d) => d.textContent.slice(0, 60)));
	for (const d of sections.querySelectorAll('details'))
		d.open = d.open || opened.has(d.textContent.slice(0, 60));
	document.getElementById('report-data')?.remove();
	document.getElementById('range')?.remove();
	const more = old ? [...old.querySelectorAll(':scope > .more')] : extras();
	for (const s of more) {
		const before = beside[s.id].map((one) => sections.querySelector('#' + one)).find(Boolean);
		if (before)
			before.after(s);
		else
			sections.append(s);
	}
	const list = contents.querySelector('ul');
	list.replaceChildren(...[...sections.children].map((s) => el('li', {}, el('a', {href: '#' + s.id},
		s.querySelector('h2').textContent))));
	const parts = el('div', {class: 'report'}, contents, sections);
	place.replaceChildren(parts, data);
	document.getElementById('job-figures').hidden = true;
	scrollTo({top: scroll});
	round++;
	await runScripts(['report.js', 'charts.js', 'bars.js', 'phases.js', 'tree.js']);
	place.dataset.round = round;
	if (round === 1 && location.hash.length > 1)
		document.getElementById(location.hash.slice(1))?.scrollIntoView();
};
/* After which section of the report each of ours stands. */
const beside = {'advice': ['core-time', 'verdict'], 'process-list': ['executables', 'tree', 'accounting'],
	'thread-list': ['process-list'], 'edit': ['metadata', 'verdict']};
let stored = true; /* a job that runs here is not in the store yet */
const news = () => dispatchEvent(new Event('plimsoll-news')); /* for the lists, which load on their own */
const extras = () => [requestAdvice(at, () => stored), processList(at), threadList(at), editor(at, session.write)].filter(Boolean).map(
	(s) => {
		s.classList.add('more');
		return s;
	});

/* ---- while it runs ---- */
const follow = (head, report, line) => {
	const least = 3000;
	let last = 0, timer = 0;
	const again = () => {
		clearTimeout(timer);
		timer = setTimeout(() => {
			last = Date.now();
			report.reload();
			news();
		}, Math.max(0, last + least - Date.now()));
	};
	const events = new EventSource(apiLink(at('live')));
	events.addEventListener('job', () => {
		line.textContent = 'Live: this page follows the job while it runs.';
		head.reload();
		again();
	});
	events.addEventListener('end', () => {
		events.close();
		line.textContent = 'The job has ended.';
		setTimeout(() => { /* it is being stored */
			head.reload();
			report.reload();
			news();
		}, 1000);
	});
	events.onerror = () => { line.textContent = 'The connection was lost; trying again\u2026'; };
};

export const show = (page) => {
	const headPlace = el('div', {class: 'job-head', id: 'job-head'}, el('h1', {}, 'Job ' + text(id)));
	const figures = el('div', {class: 'tiles', id: 'job-figures'});
	const line = el('p', {class: 'dim', role: 'status', id: 'live'});
	const place = el('div', {id: 'report'}, loading('Making the report'));
	page.replaceChildren(headPlace, line, figures, place);
	let following = false, shown = '';
	const head = fill(headPlace, (signal) => get(at(), {}, signal), (job, where) => {
		showHead(job, where);
		if (stored !== (job.stored !== false)) {
			stored = job.stored !== false;
			news();
		}
		if (outcome(job)[0] === 'running' && !following) {
			following = true;
			follow(head, report, line);
		}
	});
	const report = fill(place, (signal) => getText(at('page'), {}, signal), (markup) => {
		if (markup === shown)
			return;
		shown = markup;
		showReport(markup, place).catch((error) => place.prepend(failure({status: 0, message: error.message})));
	}, {echo: true});
};
