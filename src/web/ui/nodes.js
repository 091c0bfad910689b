/*
 * The cluster now: the collector of this host, its nodes, the jobs on them, their load and power, what the daemon of a node
 * costs and loses, and which nodes are silent. The collector knows who sends; values and jobs are those of the store, if it
 * delivers to this one.
 */
import {get, jobLink, name, pageLink} from './api.js';
import {dash, el, empty, fill, known, panel, table, text} from './view.js';
import {microseconds, number, shortTime} from './format.js';

const AGAIN = 3000, VALUES_AGAIN = 15000, SILENT = 60, SHOWN = 3; /* ms, ms, seconds, jobs */
const duration = (s) => known(s) ? values.duration(s * 1e6) : dash;
const tile = (label, value, bad, title) => el('div', {class: 'figure', title}, el('dt', {}, label), el('dd', {class: bad ? 'bad' : null}, value));
const count = (n) => el('span', {class: n ? 'bad' : null}, number(n));
const silent = (n) => !known(n.seconds_ago) || n.seconds_ago > SILENT;

/* ---- the last values of a node: those of its day in the store ---- */
const metrics = ['system.cpu_percent', 'system.mem_used', 'system.mem_total', 'ipmi.power', 'rapl.psys_energy', 'rapl.energy', 'nvidia.power',
	'amdgpu.power', 'sampler.cpu_time', 'sampler.rss', 'sampler.late', 'sampler.lost', 'sampler.overruns', 'sampler.batches_waiting'].join(',');
const dayOf = (n) => 'node:' + n.node + ':' + new Date(n.last_batch).toISOString().slice(0, 10);
const latest = (series) => {
	const of = (metric) => series.filter((s) => s.metric === metric && s.entity_kind === 'node').map((s) => s.samples.at(-1)?.[1] ?? null)[0] ?? null;
	const gpus = series.filter((s) => ['nvidia.power', 'amdgpu.power'].includes(s.metric)).map((s) => s.samples.at(-1)?.[1]).filter(known);
	const node = [['ipmi.power', 'of the whole node'], ['rapl.psys_energy', 'of the platform'], ['rapl.energy', 'of CPUs and memory']]
		.find(([metric]) => known(of(metric)));
	/* what the node measures as a whole has its GPUs in it */
	const gpu = gpus.length && node?.[0] !== 'ipmi.power' ? gpus.reduce((a, b) => a + b, 0) : null;
	return {cpu: of('system.cpu_percent'), used: of('system.mem_used'), memory: of('system.mem_total'),
		power: node || known(gpu) ? (node ? of(node[0]) : 0) + (gpu || 0) : null,
		powerOf: [node?.[1], known(gpu) ? 'of GPUs' : ''].filter(Boolean).join(', and '),
		cost: of('sampler.cpu_time'), rss: of('sampler.rss'), late: of('sampler.late'), lost: of('sampler.lost'), overruns: of('sampler.overruns'),
		waiting: of('sampler.batches_waiting')};
};
const now = new Map(); /* by node: {at, values}; values null: the store has none */
const ask = async (n) => {
	now.set(n.node, {...now.get(n.node), at: Date.now()});
	try {
		const series = await get('jobs/' + name(dayOf(n)) + '/series', {metric: metrics, rate: true, since: '-5m'});
		now.get(n.node).values = latest(series);
	} catch (error) {
		if (error.status === undefined)
			throw error;
		now.get(n.node).values = null; /* the collector does not deliver to this store, or not yet */
	}
};
const value = (n) => now.get(n.node)?.values || {};

/* ---- the table ---- */
const share = (v) => known(v) ? v.toFixed(v < 10 ? 1 : 0) + ' %' : dash;
const jobsCell = (jobs) => jobs.length ? el('span', {}, jobs.slice(0, SHOWN).map((j, i) => [i ? ', ' : '', el('a', {href: jobLink(j.link || j.jobid),
	title: [j.jobname, j.user].filter(known).map(text).join(', ')}, text(j.jobid))]).flat(), jobs.length > SHOWN ?
	[', ', el('a', {href: pageLink('', {status: 'running', host: jobs.node})}, number(jobs.length - SHOWN) + ' more')] : null) : dash;
const lost = (v) => [known(v.late) ? 'late by ' + values.value('ns', v.late) : '', v.lost ? 'samples lost' : '', v.overruns ? 'samples skipped' : '',
	v.waiting ? number(v.waiting) + ' batches wait' : ''].filter(Boolean).join(', ');
const columnsOf = (jobsOn) => [
	{label: 'Node', cell: (n) => el('span', {class: silent(n) ? 'bad' : null}, value(n).cpu !== undefined ?
		el('a', {href: jobLink(dayOf(n)), title: 'all of its day'}, text(n.node)) : text(n.node), silent(n) ? ', silent' : '')},
	{label: 'Last batch', n: true, value: (n) => n.seconds_ago, cell: (n) => el('span', {title: known(n.last_batch) ? shortTime(n.last_batch) : null},
		known(n.last_batch) ? duration(n.seconds_ago) + ' ago' : 'none since the start')},
	{label: 'Jobs', cell: (n) => jobsCell(jobsOn(n.node))},
	{label: 'CPUs in use', n: true, value: (n) => value(n).cpu, cell: (n) => share(value(n).cpu)},
	{label: 'Memory', n: true, value: (n) => value(n).used, cell: (n) => el('span', {title: known(value(n).memory) ? 'of ' + values.bytes(value(n).memory) : null},
		known(value(n).used) ? values.bytes(value(n).used) : dash)},
	{label: 'Power', n: true, value: (n) => value(n).power, cell: (n) => el('span', {title: value(n).powerOf || null},
		known(value(n).power) ? values.value('W', value(n).power) : dash)},
	{label: 'Daemon', n: true, title: 'CPU time and memory of the node daemon itself', value: (n) => value(n).cost,
		cell: (n) => el('span', {title: lost(value(n)), class: value(n).lost || value(n).overruns ? 'bad' : null},
			known(value(n).cost) ? share(value(n).cost / 1e4) + ', ' + values.bytes(value(n).rss) : dash)},
	{label: 'Batches', n: true, value: (n) => n.batches, cell: (n) => number(n.batches)},
	{label: 'Dropped', n: true, value: (n) => n.dropped, cell: (n) => count(n.dropped)},
	{label: 'Refused', n: true, value: (n) => n.refused, cell: (n) => count(n.refused)},
];
/* Rows stay where they are while their cells change: a table that is read or sorted does not jump. */
const nodeTable = () => {
	const place = el('div', {}), rows = new Map();
	let columns = [], jobs = new Map();
	const jobsOn = (node) => Object.assign(jobs.get(node) || [], {node});
	const show = (n) => {
		[...rows.get(n.node).cells].forEach((td, i) => {
			const c = columns[i], v = c.value?.(n);
			td.replaceChildren(c.cell(n));
			if (c.n && Number.isFinite(v))
				td.dataset.v = v;
			else
				delete td.dataset.v;
		});
	};
	const seen = new IntersectionObserver((entries) => {
		for (const e of entries)
			e.target.dataset.seen = e.isIntersecting ? '1' : '';
	});
	const refresh = async (nodes, done) => {
		for (const n of nodes)
			if (rows.get(n.node)?.dataset.seen === '1' && known(n.last_batch) && Date.now() - (now.get(n.node)?.at || 0) > VALUES_AGAIN) {
				await ask(n);
				show(n);
				done();
			}
	};
	return {place, update: (nodes, running, done) => {
		jobs = running;
		if (nodes.length !== rows.size || nodes.some((n) => !rows.has(n.node))) {
			const sorted = [...nodes].sort((a, b) => (b.seconds_ago ?? Infinity) - (a.seconds_ago ?? Infinity));
			columns = columnsOf(jobsOn);
			seen.disconnect();
			rows.clear();
			place.replaceChildren(table(columns, sorted, {caption: 'Nodes', cards: true}));
			[...place.querySelectorAll('tbody tr')].forEach((tr, i) => {
				rows.set(sorted[i].node, tr);
				seen.observe(tr);
			});
			sortable(place);
		} else {
			nodes.forEach(show);
		}
		setTimeout(() => refresh(nodes, done), 100);
	}};
};

/* ---- the page ---- */
const showSinks = (sinks) => sinks.length ? table([
	{label: 'Sink', cell: (s) => text(s.sink)},
	{label: 'State', kind: 'nowrap', cell: (s) => text(s.phase)},
	{label: 'Behind', n: true, value: (s) => s.seconds_behind, cell: (s) => duration(s.seconds_behind)},
	{label: 'Reason', kind: 'w', cell: (s) => text(s.reason || '')}], sinks, {caption: 'Sinks', cards: true}) : empty('There are no sinks.');
const showTiles = (c, running) => {
	const nodes = c.nodes || [], quiet = nodes.filter(silent).length, powers = nodes.map((n) => value(n).power).filter(known);
	const dropped = nodes.reduce((sum, n) => sum + (n.dropped || 0), 0);
	const jobs = new Set(nodes.flatMap((n) => (running.get(n.node) || []).map((j) => j.link || j.jobid))).size;
	return el('dl', {class: 'figures'}, tile('Nodes', number(nodes.length)), tile('Silent', number(quiet), quiet > 0, 'nothing for a minute'),
		tile('Jobs on them', number(jobs)),
		tile('Power', powers.length ? values.value('W', powers.reduce((a, b) => a + b, 0)) : dash, false, 'of ' + number(powers.length) + ' of them'),
		tile('Dropped', number(dropped), dropped > 0, 'batches'), tile('Batches', number(c.native?.batches)),
		tile('Refused', number(c.native?.refused), c.native?.refused > 0),
		tile('Log', known(c.log?.bytes) ? values.value('bytes', c.log.bytes) : dash), tile('Runs for', known(c.started) ? values.duration(Date.now() * 1000 - microseconds(c.started)) : dash));
};
const onNodes = (jobs) => {
	const map = new Map();
	for (const job of jobs)
		if (!job.jobid.startsWith('node:'))
			for (const host of job.hosts || [])
				map.set(host, [...map.get(host) || [], job]);
	return map;
};

export const show = (page) => {
	const place = el('div', {}), nodes = nodeTable();
	const tiles = el('div', {class: 'tiles'}), warning = el('div', {}), sinks = el('div', {}), nobody = el('div', {});
	const parts = [tiles, warning, panel('nodes', 'Nodes', nodes.place, nobody), panel('sinks', 'Where samples go', sinks)];
	page.replaceChildren(el('h1', {}, 'Nodes'), place);
	fill(place, async (signal) => {
		const collector = await get('nodes', {}, signal);
		return {collector, running: collector?.nodes?.length ? onNodes((await get('jobs', {status: 'running', limit: 1000}, signal)).jobs) : new Map()};
	}, ({collector: c, running}) => {
		if (!c) {
			place.replaceChildren(empty('No collector of yours runs on this host.',
				'`plimsoll collect` receives the samples of `plimsoll node`, which samples all jobs of a node.'));
			return;
		}
		if (!tiles.isConnected)
			place.replaceChildren(...parts);
		tiles.replaceChildren(showTiles(c, running));
		warning.replaceChildren(c.log?.held_by ? el('p', {class: 'finding warning'}, 'The log is held by ' + text(c.log.held_by) +
			', which has stored nothing for ' + duration(c.log.held_seconds) + '.') : '');
		sinks.replaceChildren(showSinks(c.sinks || []));
		sortable(sinks);
		nobody.replaceChildren(c.nodes?.length ? '' : empty('No node has sent anything yet.'));
		nodes.place.hidden = !c.nodes?.length;
		nodes.update(c.nodes || [], running, () => tiles.replaceChildren(showTiles(c, running)));
	}, {every: AGAIN});
};
