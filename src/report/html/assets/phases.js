'use strict';
/* Phases over time: the bars zoom with the other charts, and say what they are. */
(() => {
	const place = document.getElementById('phase-bars');
	if (!place)
		return;
	const {names, colors, lanes} = page.data.phases, origin = page.data.origin, LANE = 16;
	const bars = page.data.phases.bars.map(([start, length, name, lane, count, open, point]) => ({
		start: origin + start, end: origin + start + length, name, lane, count, open, point}));
	const svg = place.querySelector('svg'), xs = place.querySelector('.xs');

	const draw = (size) => {
		const width = (size || svg.getBoundingClientRect()).width || 1000, paths = new Map(), labels = [];
		for (const b of bars) {
			const a = Math.max(0, zoom.place(b.start)) * width, z = Math.min(1, zoom.place(b.end)) * width;
			if (z < 0 || a > width || z < a)
				continue;
			const w = Math.max(z - a, 0.8), key = 'q' + colors[b.name];
			paths.set(key, (paths.get(key) || '') + 'M' + a.toFixed(1) + ' ' + b.lane * LANE + 'h' + w.toFixed(1) +
				'v' + (LANE - 1) + 'h-' + w.toFixed(1) + 'z');
			if (w > 34 && labels.length < 400) {
				const box = page.svg('svg', {x: a.toFixed(1), y: b.lane * LANE, width: w.toFixed(1), height: LANE});
				box.append(page.svg('text', {x: 4, y: 11}, page.shorten(page.visible(names[b.name]), 60) +
					(b.count > 1 ? ' \u00d7' + page.count(b.count) : '')));
				labels.push(box);
			}
		}
		svg.replaceChildren(...[...paths].map(([key, d]) => page.svg('path', {class: key, d})), ...labels);
		zoom.drawTimes(xs, width);
	};
	const barAt = (t, lane, near) => {
		let best = null, distance = near;
		for (const b of bars) {
			const d = Math.max(b.start - t, t - b.end, 0);
			if (b.lane === lane && d <= distance) {
				best = b;
				distance = d;
			}
		}
		return best;
	};
	const rows = (t, event) => {
		const box = svg.getBoundingClientRect(), list = [];
		const near = (zoom.view.end - zoom.view.begin) / box.width * 3;
		const b = event && barAt(t, Math.floor((event.clientY - box.top) / LANE), near);
		if (!b) {
			const running = bars.reduce((n, x) => n + (x.start <= t && x.end >= t ? 1 : 0), 0);
			list.push(['', 'phases at this time', page.count(running)]);
			return list;
		}
		const lane = lanes[b.lane];
		list.title = page.shorten(page.visible(names[b.name]), 200);
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
	};
	zoom.add({element: svg, draw, rows});
})();
