/* A plane with two axes, for points and lines: scatter of jobs, runs over time. Steps are those of the report's charts. */
import {el, text} from './view.js';

const LEFT = 74, RIGHT = 14, TOP = 12, BOTTOM = 40;

/* A scale from values to pixels, with its ticks. */
export const linear = (list, unit, from, to, about = 6) => {
	const a = values.axis(Math.min(...list), Math.max(...list), unit, about);
	return {at: (v) => from + (v - a.low) / (a.high - a.low || 1) * (to - from), ticks: a.ticks};
};
/* microseconds to seconds by tens, then seconds, minutes, hours and days as people count them */
const clock = new Map([[1, '1 us'], [10, '10 us'], [100, '100 us'], [1e3, '1 ms'], [1e4, '10 ms'], [1e5, '100 ms'], [1e6, '1 s'],
	[1e7, '10 s'], [6e7, '1 min'], [6e8, '10 min'], [3.6e9, '1 h'], [3.6e10, '10 h'], [8.64e10, '1 d'], [8.64e11, '10 d']]);
export const logarithmic = (list, unit, from, to) => {
	const some = list.filter((v) => v > 0);
	const low = Math.floor(Math.log10(Math.min(...some)) + 1e-9), high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...some)) - 1e-9));
	const step = Math.ceil((high - low) / 8);
	const ticks = unit === 'us' ? [...clock.keys()].filter((v) => v >= 10 ** low && v <= 10 ** high) :
		Array.from({length: Math.floor((high - low) / step) + 1}, (_, i) => 10 ** (low + i * step));
	return {at: (v) => from + (Math.log10(v) - low) / (high - low) * (to - from),
		ticks: ticks.map((v) => [v, unit === 'us' ? clock.get(v) : values.value(unit, v)])};
};

/*
 * The plane itself: {svg, width, height, x, y, box}. scale(list, from, to) makes x and y; ticks of x may be words of the
 * caller.
 */
export const plane = (place, {height = 400, xs, ys, xLabel, yLabel, label}) => {
	const width = Math.max(300, Math.min(1600, place.clientWidth || 800));
	const x = xs(LEFT, width - RIGHT), y = ys(height - BOTTOM, TOP);
	const svg = elements.svg('svg', {class: 'plane', viewBox: '0 0 ' + width + ' ' + height, role: 'img',
		'aria-label': label});
	let d = '';
	const wide = Math.max(1, Math.ceil(x.ticks.length * 76 / (width - LEFT)));
	x.ticks.forEach(([v, word], i) => {
		const at = x.at(v);
		d += 'M' + at.toFixed(1) + ' ' + TOP + 'V' + (height - BOTTOM);
		if (i % wide === 0)
			svg.append(elements.svg('text', {x: at.toFixed(1), y: height - BOTTOM + 16,
				'text-anchor': at > width - 40 ? 'end' : 'middle'}, word));
	});
	for (const [v, word] of y.ticks) {
		d += 'M' + LEFT + ' ' + y.at(v).toFixed(1) + 'H' + (width - RIGHT);
		svg.append(elements.svg('text', {x: LEFT - 8, y: (y.at(v) + 4).toFixed(1), 'text-anchor': 'end'}, word));
	}
	svg.prepend(elements.svg('path', {class: 'grid', d}));
	svg.append(elements.svg('text', {x: width - RIGHT, y: height - 4, 'text-anchor': 'end'}, text(xLabel)));
	if (yLabel)
		svg.append(elements.svg('text', {x: LEFT + 6, y: TOP + 12}, text(yLabel)));
	return {svg, width, height, x, y};
};

/* Links that are points, with what they are under the pointer and the keyboard. points: [{x, y, href, title, rows, kind}] */
export const dots = (p, points, size = 4) => {
	const group = elements.svg('g', {class: 'dots'});
	for (const point of points) {
		const a = elements.svg('a', {href: point.href, 'aria-label': point.title});
		const dot = elements.svg('circle', {cx: p.x.at(point.x).toFixed(1), cy: p.y.at(point.y).toFixed(1), r: size,
			class: point.kind || ''});
		const show = (e) => {
			const box = dot.getBoundingClientRect();
			elements.showTip(elements.tipTable(point.title, point.rows.map(([k, v]) => ['', k, v])),
				e.clientX || box.x, e.clientY || box.y);
		};
		a.addEventListener('pointerenter', show);
		a.addEventListener('focus', show);
		a.addEventListener('pointerleave', elements.hideTip);
		a.addEventListener('blur', elements.hideTip);
		a.append(dot);
		group.append(a);
		point.dot = dot;
	}
	p.svg.append(group);
};

/* A rectangle that is dragged: chosen(x0, x1, y0, y1) in pixels of the plane; null when it is dropped. */
export const selectable = (p, chosen) => {
	let from = null, box = null;
	const at = (e) => {
		const r = p.svg.getBoundingClientRect();
		return [(e.clientX - r.left) * p.width / r.width, (e.clientY - r.top) * p.height / r.height];
	};
	p.svg.addEventListener('pointerdown', (e) => {
		if (e.button || e.target.closest('a'))
			return;
		from = at(e);
		p.svg.setPointerCapture(e.pointerId);
	});
	p.svg.addEventListener('pointermove', (e) => {
		if (!from)
			return;
		const to = at(e);
		box = box || p.svg.appendChild(elements.svg('rect', {class: 'select'}));
		for (const [name, v] of [['x', Math.min(from[0], to[0])], ['y', Math.min(from[1], to[1])],
			['width', Math.abs(from[0] - to[0])], ['height', Math.abs(from[1] - to[1])]])
			box.setAttribute(name, v.toFixed(1));
	});
	p.svg.addEventListener('pointerup', (e) => {
		if (!from)
			return;
		const to = at(e), small = Math.hypot(from[0] - to[0], from[1] - to[1]) < 4;
		chosen(small ? null : [Math.min(from[0], to[0]), Math.max(from[0], to[0]), Math.min(from[1], to[1]),
			Math.max(from[1], to[1])]);
		from = null;
		if (small) {
			box?.remove();
			box = null;
		}
	});
	p.svg.addEventListener('pointercancel', () => { from = null; });
};

/* Draws again when the place has another width. */
export const redrawn = (place, draw) => {
	let width = 0;
	new ResizeObserver(() => {
		if (Math.abs(place.clientWidth - width) < 2)
			return;
		width = place.clientWidth;
		draw();
	}).observe(place);
};
export const figure = (...inside) => el('figure', {class: 'chart'}, ...inside);
