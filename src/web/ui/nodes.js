/* The collector of this host: its nodes, where their samples go, what was dropped, which nodes are silent. */
import {get} from './api.js';
import {dash, el, empty, fill, known, panel, table, text} from './view.js';
import {number, shortTime} from './format.js';

const AGAIN = 3000, SILENT = 60; /* seconds */
const duration = (s) => known(s) ? values.duration(s * 1e6) : dash;
const tile = (label, value, bad) => el('div', {class: 'figure'}, el('dt', {}, label), el('dd', {class: bad ? 'bad' : null}, value));
const count = (n) => el('span', {class: n ? 'bad' : null}, number(n));
const silent = (n) => !known(n.seconds_ago) || n.seconds_ago > SILENT;

const showCollector = (c, place) => {
	if (!c) {
		place.replaceChildren(empty('No collector of yours runs on this host.',
			'`plimsoll collect` receives the samples of `plimsoll node`, which samples all jobs of a node.'));
		return;
	}
	const nodes = c.nodes || [], quiet = nodes.filter(silent).length;
	place.replaceChildren(
		el('div', {class: 'tiles'}, el('dl', {class: 'figures'}, tile('Nodes', number(nodes.length)), tile('Silent', number(quiet), quiet > 0),
			tile('Batches', number(c.native?.batches)), tile('Refused', number(c.native?.refused), c.native?.refused > 0),
			tile('Log', known(c.log?.bytes) ? values.value('bytes', c.log.bytes) : dash), tile('Since', shortTime(c.started)))),
		c.log?.held_by ? el('p', {class: 'finding warning'}, 'The log is held by ' + text(c.log.held_by) + ', which has stored nothing for ' +
			duration(c.log.held_seconds) + '.') : '',
		panel('sinks', 'Where samples go', (c.sinks || []).length ? table([
			{label: 'Sink', cell: (s) => text(s.sink)},
			{label: 'State', kind: 'nowrap', cell: (s) => text(s.phase)},
			{label: 'Behind', n: true, value: (s) => s.seconds_behind, cell: (s) => duration(s.seconds_behind)},
			{label: 'Reason', kind: 'w', cell: (s) => text(s.reason || '')}], c.sinks, {caption: 'Sinks', cards: true}) : empty('There are no sinks.')),
		panel('nodes', 'Nodes', nodes.length ? table([
			{label: 'Node', cell: (n) => el('span', {class: silent(n) ? 'bad' : null}, text(n.node))},
			{label: 'Last batch', kind: 'nowrap', cell: (n) => known(n.last_batch) ? shortTime(n.last_batch) : 'none since the start'},
			{label: 'Ago', n: true, value: (n) => n.seconds_ago, cell: (n) => duration(n.seconds_ago)},
			{label: 'Batches', n: true, value: (n) => n.batches, cell: (n) => number(n.batches)},
			{label: 'Dropped', n: true, value: (n) => n.dropped, cell: (n) => count(n.dropped)},
			{label: 'Refused', n: true, value: (n) => n.refused, cell: (n) => count(n.refused)},
		], [...nodes].sort((a, b) => (b.seconds_ago ?? Infinity) - (a.seconds_ago ?? Infinity)), {caption: 'Nodes', cards: true}) :
			empty('No node has sent anything yet.')));
	sortable(place);
};

export const show = (page) => {
	const place = el('div', {});
	page.replaceChildren(el('h1', {}, 'Nodes'), place);
	fill(place, (signal) => get('nodes', {}, signal), showCollector, {every: AGAIN});
};
