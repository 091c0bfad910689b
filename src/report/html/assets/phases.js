'use strict';
/* Phases over time: the bars zoom with the other charts, and say what they are. */
(() => {
	const place = document.getElementById('phase-bars');
	if (!place)
		return;
	const {names, colors, lanes} = page.data.phases, origin = page.data.origin, LANE = 16;
	const bars = page.data.phases.bars.map(([start, length, name, lane, count, open, point]) => ({
		start: origin + start, end: origin + start + length, name, lane, count, open, point}));
	timeBars({place, bars, height: LANE, word: 'phases',
		colorOf: (b) => 'q' + colors[b.name],
		labelOf: (b) => page.shorten(page.visible(names[b.name]), 60) + (b.count > 1 ? ' \u00d7' + page.count(b.count) : ''),
		titleOf: (b) => page.shorten(page.visible(names[b.name]), 200),
		rowsOf: (b) => {
			const lane = lanes[b.lane], list = [];
			if (b.count > 1)
				list.push(['', 'phases', page.count(b.count)]);
			list.push(['', 'from', page.clock(b.start, 1000)]);
			if (!b.point)
				list.push(['', b.count > 1 ? 'over' : 'lasted', page.duration(b.end - b.start)]);
			if (lane.rank !== null)
				list.push(['', 'rank', page.count(lane.rank)]);
			list.push(['', 'process', page.visible(lane.host) + ' ' + lane.pid]);
			if (lane.tid !== lane.pid)
				list.push(['', 'thread', String(lane.tid)]);
			if (b.open)
				list.push(['', 'ended', 'with its program']);
			return list;
		}});
})();
