'use strict';
/*
 * Bars in lanes over time, which zoom with the charts: processes and phases of a job, jobs of a group. place has an svg with
 * the class bars and one with the class xs; bars: [{start, end, lane, failed}] in us. colorOf(bar) is its class, labelOf(bar)
 * what is written on it, titleOf(bar) and rowsOf(bar) what is said of it under the pointer, open(bar) what a click does,
 * word: what bars are. Returns a function that draws them again.
 */
var timeBars = ({place, bars, height, word, colorOf, faded = () => false, labelOf, titleOf, rowsOf, open, stale = false}) => {
	const svg = place.querySelector('svg.bars'), xs = place.querySelector('.xs');

	const draw = (size) => {
		const width = (size || svg.getBoundingClientRect()).width || 1000, paths = new Map(), labels = [], taken = [];
		let failed = '';
		for (const b of bars) {
			const a = Math.max(0, zoom.place(b.start)) * width, z = Math.min(1, zoom.place(b.end)) * width;
			if (z < 0 || a > width || z < a)
				continue;
			const w = Math.max(z - a, 0.8), y = b.lane * height, h = Math.max(1, height - (height > 4 ? 1 : 0));
			const key = colorOf(b) + (faded(b) ? ' faded' : '');
			paths.set(key, (paths.get(key) || '') + 'M' + a.toFixed(1) + ' ' + y.toFixed(1) + 'h' + w.toFixed(1) +
				'v' + h.toFixed(1) + 'h-' + w.toFixed(1) + 'z');
			if (b.failed)
				failed += 'M' + Math.min(width - 1, z).toFixed(1) + ' ' + (y + h / 2).toFixed(1) + 'v' + (h / 2).toFixed(1);
			if (height >= 12 && w > 34 && labels.length < 400 && a >= (taken[b.lane] || 0)) {
				taken[b.lane] = a + w;
				const box = elements.svg('svg', {x: a.toFixed(1), y, width: w.toFixed(1), height});
				box.append(elements.svg('text', {x: 4, y: 11}, labelOf(b)));
				labels.push(box);
			}
		}
		const parts = [...paths].map(([key, d]) => elements.svg('path', {class: key, d}));
		if (failed)
			parts.push(elements.svg('path', {class: 'failed', d: failed}));
		svg.replaceChildren(...parts, ...labels);
		zoom.drawTimes(xs, width);
	};
	/* The bar under the pointer, or one that is too narrow to be hit. */
	const barAt = (event) => {
		const box = svg.getBoundingClientRect(), lane = Math.floor((event.clientY - box.top) / height);
		const span = zoom.view.end - zoom.view.begin;
		const t = zoom.view.begin + (event.clientX - box.left) / box.width * span;
		let best = null, distance = span / box.width * 3;
		for (const b of bars) {
			if (b.lane !== lane)
				continue;
			const d = Math.max(b.start - t, t - b.end, 0);
			if (d <= distance) {
				best = b;
				distance = d;
			}
		}
		return best;
	};
	const rows = (t, event) => {
		const b = event && barAt(event);
		if (!b)
			return [['', word + ' at this time', values.count(bars.reduce((n, x) => n + (x.start <= t && x.end >= t ? 1 : 0), 0))]];
		const list = rowsOf(b);
		list.title = titleOf(b);
		return list;
	};
	zoom.add({element: svg, draw, rows, stale});
	if (open) {
		let from = 0;
		svg.addEventListener('pointerdown', (e) => { from = e.clientX; });
		svg.addEventListener('click', (e) => {
			const b = Math.abs(e.clientX - from) < 4 && barAt(e);
			if (b)
				open(b);
		});
	}
	return draw;
};
