'use strict';
/*
 * Charts that zoom together. A chart stays as the page has it until it is first touched; then it is
 * drawn again for the range of time in view. Charts of other scripts (processes over time) take part
 * through zoom.charts.
 */
var zoom = (() => {
	const WIDTH = 1000, HEIGHT = 200, TICKS = 8;
	const view = {begin: page.begin, end: page.end};
	/* {element, draw(size), rows(time, event)}; seen: on the screen or near it, stale: shows another range */
	const charts = [], places = new Map();
	const least = 20; /* us: no closer */
	let cursor = null, queued = false, touched = false;

	/* ---- the axes: steps as in plot/plot_axis.c ---- */
	const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200,
		...[1, 2, 5, 10, 20, 50, 100, 365, 3650].map((days) => days * 86400)];
	const timeTicks = (pixels) => {
		const span = view.end - view.begin;
		const most = Math.max(2, Math.min(TICKS, pixels / 90));
		let step = 1;
		/* fractions of a second take room: each digit, and half as much again at an edge */
		const room = (s) => s < 1e6 && span / s > pixels / (94 + 10 * (6 - Math.floor(Math.log10(s))));
		for (let i = 0; step < 1e6 && (span / step > most || room(step)); i++)
			step = i % 3 === 1 ? step / 2 * 5 : step * 2;
		if (step >= 1e6)
			step = (steps.find((s) => span / (s * 1e6) <= most) || span / most / 1e6) * 1e6;
		const offset = page.offsetAt(view.begin);
		const list = [];
		for (let t = Math.ceil((view.begin + offset) / step) * step - offset; t <= view.end; t += step)
			list.push(t);
		return {list, step};
	};
	const place = (t) => (t - view.begin) / (view.end - view.begin);
	const drawTimes = (xs, width) => {
		const ticks = timeTicks(width);
		const day = (t) => Math.floor((t + page.offsetAt(t)) / 86400e6);
		xs.replaceChildren(...ticks.list.map((t, i) => {
			const x = place(t) * 100;
			return page.svg('text', {x: x.toFixed(2) + '%', y: 14, class: x < 4 ? 'l' : x > 96 ? 'r' : 'm'},
				page.clock(t, ticks.step, !i || day(t) !== day(ticks.list[i - 1])));
		}));
		return ticks;
	};

	/* ---- one chart of series ---- */
	const firstAfter = (times, t) => {
		let low = 0, high = times.length;
		while (low < high) {
			const middle = (low + high) >> 1;
			if (times[middle] < t)
				low = middle + 1;
			else
				high = middle;
		}
		return low;
	};
	const nearest = (line, t) => {
		const i = firstAfter(line.t, t);
		if (line.stepped)
			return line.t[i] === t ? i : i - 1;
		return i > 0 && (i === line.t.length || t - line.t[i - 1] < line.t[i] - t) ? i - 1 : i;
	};
	const visibleRange = (line) => [Math.max(0, firstAfter(line.t, view.begin) - 1),
		Math.min(line.t.length, firstAfter(line.t, view.end) + 1)];
	const rangeOf = (lines, unit) => {
		let low = Infinity, high = -Infinity, off = 0;
		for (const line of lines) {
			off = Math.max(off, line.off || 0);
			const [from, to] = visibleRange(line);
			for (let i = from; i < to; i++) {
				if (line.lo[i] < low)
					low = line.lo[i];
				if (line.hi[i] > high)
					high = line.hi[i];
			}
		}
		if (low > high)
			low = high = 0;
		/* what was rounded beyond a tick needs no further one */
		low += off;
		high -= off;
		return page.axis(low, high, unit, 4);
	};
	const pathOf = (line, values, y) => {
		const [from, to] = visibleRange(line);
		let d = '', pen = false, column = -1, low = 0, high = 0, last = 0;
		for (let i = from; i < to; i++) {
			if (!Number.isFinite(values[i])) {
				pen = false;
				continue;
			}
			const x = Math.round(place(line.t[i]) * WIDTH * 4) / 4, at = y(values[i]);
			if (line.seldom || (pen && line.gap && line.t[i] - line.t[i - 1] > line.gap))
				pen = false;
			if (pen && x - column < 0.5) { /* in a column only what sticks out */
				if (at < low || at > high)
					d += 'L' + column + ' ' + at;
				low = Math.min(low, at);
				high = Math.max(high, at);
			} else {
				d += pen ? (line.stepped ? 'H' + x + 'V' + at : 'L' + x + ' ' + at) :
					'M' + x + ' ' + at + 'h0';
				column = x;
				low = high = at;
			}
			last = at;
			pen = true;
		}
		return line.stepped && pen && last !== null ?
			d + 'H' + Math.min(WIDTH, place(line.end) * WIDTH) : d;
	};
	const bandOf = (line, y) => {
		const [from, to] = visibleRange(line);
		let up = [], down = [], any = false, d = '';
		if (line.seldom)
			return d;
		const end = () => {
			if (up.length)
				d += 'M' + up.join('L') + 'L' + down.reverse().join('L') + 'z';
			up = [];
			down = [];
		};
		for (let i = from; i < to; i++) {
			if (!Number.isFinite(line.lo[i]) || !Number.isFinite(line.hi[i]))
				continue;
			if (i > from && line.gap && line.t[i] - line.t[i - 1] > line.gap)
				end();
			const x = (place(line.t[i]) * WIDTH).toFixed(1);
			any = any || line.lo[i] !== line.hi[i];
			up.push(x + ' ' + y(line.hi[i]));
			down.push(x + ' ' + y(line.lo[i]));
		}
		end();
		return any ? d : '';
	};
	/* the phases that divide the job, in turns light and dark */
	const phaseBands = () => ['phase', 'phase odd'].map((name, odd) => {
		let d = '';
		(page.data.phases?.bands || []).forEach(([start, length], i) => {
			const a = Math.max(0, place(page.data.origin + start)), z = Math.min(1, place(page.data.origin + start + length));
			if (i % 2 === odd && z > a)
				d += 'M' + (a * WIDTH).toFixed(1) + ' 0H' + (z * WIDTH).toFixed(1) + 'v' + HEIGHT + 'H' + (a * WIDTH).toFixed(1) + 'z';
		});
		return d && page.svg('path', {class: name, d});
	}).filter(Boolean);
	const makeChart = (figure, lines, unit) => {
		const plot = figure.querySelector('.plot'), ys = figure.querySelector('.ys');
		const xs = figure.querySelector('.xs');
		const chart = {element: plot};
		chart.draw = (size) => {
			const r = rangeOf(lines, unit), ticks = drawTimes(xs, size.width);
			const y = (v) => Math.round((r.high - v) / (r.high - r.low) * HEIGHT * 4) / 4;
			const parts = phaseBands(), labels = [];
			let d = '';
			for (const t of ticks.list)
				d += 'M' + (place(t) * WIDTH).toFixed(1) + ' 0v' + HEIGHT;
			for (const [v, label] of r.ticks.reverse()) {
				d += 'M0 ' + y(v) + 'h' + WIDTH;
				labels.push(page.svg('text', {x: '100%',
					y: ((size.height - 4) * (r.high - v) / (r.high - r.low)).toFixed(1)}, label));
			}
			parts.push(page.svg('path', {class: 'grid', d}));
			lines.forEach((line, i) => {
				if (lines.length <= 8 && (d = bandOf(line, y)))
					parts.push(page.svg('path', {class: 'band k' + i, d}));
			});
			for (let i = lines.length; i-- > 0;)
				parts.push(page.svg('path', {class: 'line k' + Math.min(i, 8) +
					(lines[i].seldom || lines[i].t.length === 1 ? ' dot' : ''), d: pathOf(lines[i], lines[i].v, y)}));
			plot.replaceChildren(...parts);
			ys.replaceChildren(...labels);
		};
		chart.rows = (t) => {
			const rows = lines.map((line, i) => {
				const n = nearest(line, t), v = line.v[n];
				let text = n >= 0 && Number.isFinite(v) ? page.value(unit, v) : '\u2013';
				if (n >= 0 && line.hi[n] > line.lo[n] && lines.length <= 8)
					text += ' (' + page.value(unit, line.lo[n]) + ' to ' + page.value(unit, line.hi[n]) + ')';
				return ['k' + Math.min(i, 8), line.name, text, v];
			});
			if (rows.length <= 12)
				return rows;
			rows.sort((a, b) => (b[3] ?? -Infinity) - (a[3] ?? -Infinity));
			return [...rows.slice(0, 12), ['', '\u2026 ' + (rows.length - 12) + ' more', '']];
		};
		return chart;
	};

	/* ---- what is looked at ---- */
	const range = page.html('div', {id: 'range', role: 'status', hidden: ''});
	const reset = page.html('button', {type: 'button'}, 'Show all');
	const text = page.html('span', {});
	range.append(text, ' ', reset);
	document.body.append(range);
	/* All sizes are asked for before anything is drawn: each question after a change would lay out the page anew. */
	const drawThese = (list) => {
		const sizes = list.map((chart) => chart.element.getBoundingClientRect());
		list.forEach((chart, i) => {
			chart.draw(sizes[i]);
			chart.stale = false;
			chart.cursor = null;
		});
		showCursor();
	};
	const watch = new IntersectionObserver((entries) => {
		const due = [];
		for (const e of entries) {
			const chart = places.get(e.target);
			if (!chart)
				continue;
			chart.seen = e.isIntersecting;
			if (chart.seen && chart.stale)
				due.push(chart);
		}
		drawThese(due);
	}, {rootMargin: '50% 0px'});
	const drawAll = () => {
		queued = false;
		touched = true;
		for (const chart of charts)
			chart.stale = true;
		drawThese(charts.filter((chart) => chart.seen));
		const whole = view.begin <= page.begin && view.end >= page.end;
		range.hidden = whole;
		const fine = (view.end - view.begin) / 1000;
		text.textContent = page.clock(view.begin, fine) + ' to ' + page.clock(view.end, fine) + ', ' +
			page.duration(view.end - view.begin);
	};
	const redraw = () => {
		if (!queued)
			requestAnimationFrame(drawAll);
		queued = true;
	};
	const set = (a, b) => {
		if (b - a < least) {
			const middle = (a + b) / 2;
			a = middle - least / 2;
			b = middle + least / 2;
		}
		const span = Math.min(b - a, page.end - page.begin);
		a = Math.max(page.begin, Math.min(a, page.end - span));
		view.begin = a;
		view.end = a + span;
		redraw();
	};
	const around = (t, factor) => set(t - (t - view.begin) * factor, t + (view.end - t) * factor);
	const all = () => set(page.begin, page.end);
	reset.addEventListener('click', all);

	/* ---- the line at the pointer, in all charts ---- */
	const showCursor = () => {
		const shown = cursor !== null && cursor >= view.begin && cursor <= view.end;
		const x = shown ? (place(cursor) * 100).toFixed(3) + '%' : '';
		for (const chart of charts) {
			if (!shown || !chart.seen) {
				chart.cursor?.remove();
				chart.cursor = null;
				continue;
			}
			chart.cursor = chart.cursor ||
				chart.element.appendChild(page.svg('line', {class: 'cursor', y1: -3, y2: '100%'}));
			chart.cursor.setAttribute('x1', x);
			chart.cursor.setAttribute('x2', x);
		}
	};
	const showAt = (chart, t, x, y, event) => {
		cursor = t;
		showCursor();
		const span = view.end - view.begin;
		const title = page.clock(t, span / 1000) + ', ' + page.duration(Math.max(0, t - page.begin)) +
			' after the start';
		const rows = chart.rows(t, event);
		page.showTip(page.tipTable(rows.title || title, rows), x, y);
	};

	/* ---- pointer, wheel and keys ---- */
	const timeAt = (element, x) => {
		const box = element.getBoundingClientRect();
		return view.begin + Math.max(0, Math.min(1, (x - box.left) / box.width)) *
			(view.end - view.begin);
	};
	const key = (chart, e) => {
		const span = view.end - view.begin;
		const t = cursor === null || cursor < view.begin || cursor > view.end ?
			view.begin + span / 2 : cursor;
		const step = {ArrowLeft: -1, ArrowRight: 1}[e.key];
		if (step && e.shiftKey)
			set(view.begin + step * span / 5, view.end + step * span / 5);
		else if (step) {
			const box = chart.element.getBoundingClientRect();
			const to = Math.max(view.begin, Math.min(view.end, t + step * span / 100));
			showAt(chart, to, box.left + place(to) * box.width, box.top + box.height / 2, null);
		} else if (e.key === '+' || e.key === '=')
			around(t, 0.5);
		else if (e.key === '-')
			around(t, 2);
		else if (e.key === '0' || e.key === 'Escape')
			all();
		else
			return;
		e.preventDefault();
	};
	const listen = (chart) => {
		const e = chart.element;
		let from = null, box = null;
		e.setAttribute('tabindex', '0');
		const drop = () => {
			from = null;
			box?.remove();
			box = null;
		};
		e.addEventListener('pointerdown', (event) => {
			if (event.button)
				return;
			from = event.clientX;
			e.setPointerCapture(event.pointerId);
		});
		e.addEventListener('pointermove', (event) => {
			const t = timeAt(e, event.clientX);
			showAt(chart, t, event.clientX, event.clientY, event);
			if (from === null || Math.abs(event.clientX - from) < 4)
				return;
			box = box || e.appendChild(page.svg('rect', {class: 'select', y: -3, height: '100%'}));
			const a = place(timeAt(e, Math.min(from, event.clientX)));
			const b = place(timeAt(e, Math.max(from, event.clientX)));
			box.setAttribute('x', a * 100 + '%');
			box.setAttribute('width', (b - a) * 100 + '%');
		});
		e.addEventListener('pointerup', (event) => {
			if (from !== null && Math.abs(event.clientX - from) >= 4)
				set(timeAt(e, Math.min(from, event.clientX)), timeAt(e, Math.max(from, event.clientX)));
			drop();
		});
		e.addEventListener('pointercancel', drop);
		e.addEventListener('pointerleave', () => {
			cursor = null;
			showCursor();
			page.hideTip();
		});
		e.addEventListener('blur', page.hideTip);
		e.addEventListener('dblclick', all);
		e.addEventListener('wheel', (event) => {
			/* the page scrolls on, unless the chart was clicked or a key says zoom */
			if (!event.ctrlKey && !event.shiftKey && document.activeElement !== e)
				return;
			event.preventDefault();
			const by = event.deltaY || event.deltaX;
			if (Math.abs(event.deltaX) > Math.abs(event.deltaY) && !event.shiftKey) {
				const move = event.deltaX / 500 * (view.end - view.begin);
				set(view.begin + move, view.end + move);
			} else {
				around(timeAt(e, event.clientX), by > 0 ? 1.25 : 0.8);
			}
		}, {passive: false});
		e.addEventListener('keydown', (event) => key(chart, event));
	};
	const add = (chart) => {
		charts.push(chart);
		places.set(chart.element, chart);
		watch.observe(chart.element);
		listen(chart);
	};

	/* ---- the charts that are there ---- */
	const usual = (times) => {
		const gaps = [];
		for (let i = 1; i < times.length; i++)
			gaps.push(times[i] - times[i - 1]);
		gaps.sort((a, b) => a - b);
		return gaps.length ? gaps[gaps.length >> 1] * 5 : 0;
	};
	/* A series of the data of a report as numbers: {t, v, lo, hi} */
	const columns = (series, {times, origin}) => {
		const {first, scale, below, above} = series;
		const t = [], v = [], lo = [], hi = [];
		series.values.forEach((n, i) => {
			if (n === null)
				return;
			t.push(times[first + i] + origin);
			v.push(n * scale);
			lo.push((below ? n - below[i] : n) * scale);
			hi.push((above ? n + above[i] : n) * scale);
		});
		return {t, v, lo, hi, off: scale / 2};
	};
	const seriesLines = (ids) => {
		const lines = ids.map((id) => {
			const c = page.data.series[id], line = columns(c, page.data);
			line.gap = usual(line.t);
			line.seldom = c.seldom;
			line.name = page.visible([c.host, c.entity].filter(Boolean).join(' ') ||
				(ids.length > 1 ? 'all hosts' : c.label || c.metric));
			return line;
		});
		return [lines, page.data.series[ids[0]].unit || ''];
	};
	const timelineLines = (figure) => {
		/* the end is no level of its own */
		const all = page.data.timeline, last = all[all.length - 1];
		const list = last[1] ? all : all.slice(0, -1), end = last[1] ? page.end : last[0] + page.data.origin;
		const line = (name, column) => {
			const v = list.map((s) => s[column]);
			return {name, t: list.map((s) => s[0] + page.data.origin), v, lo: v, hi: v, stepped: true, end};
		};
		const lines = [line('processes', 1)];
		if (figure.querySelectorAll('.line').length > 1)
			lines.push(line('threads', 2));
		return [lines, 'count'];
	};
	for (const figure of document.querySelectorAll('figure.chart[data-lines]')) {
		const ids = figure.dataset.lines;
		let made = null; /* data are put in shape when the chart is first looked at */
		const chart = {element: figure.querySelector('.plot')};
		const get = () => made = made || makeChart(figure, ...(ids === 'timeline' ?
			timelineLines(figure) : seriesLines(ids.split(' ').map(Number))));
		chart.draw = (size) => get().draw(size);
		chart.rows = (t) => get().rows(t);
		add(chart);
	}
	const hint = () => page.html('p', {class: 'dim tools'}, 'Drag over a chart to zoom in, double ' +
		'click to zoom out. After a click on a chart the wheel and the keys + \u2212 \u2190 \u2192 ' +
		'zoom and move; shift with an arrow moves faster.');
	if (charts.length)
		charts[0].element.closest('section').querySelector('h2').after(hint());
	/* Those that are not on the page any more. */
	const forget = () => {
		for (const chart of charts.splice(0)) {
			watch.unobserve(chart.element);
			places.delete(chart.element);
		}
	};
	/* A chart that came later is drawn when it is first seen. lines: as of columns(), with names. */
	const addLines = (figure, lines, unit) => {
		for (const line of lines)
			line.gap = usual(line.t);
		add({...makeChart(figure, lines, unit), stale: true});
	};
	addEventListener('resize', () => {
		if (touched)
			redraw();
	}, {signal: page.ended.signal});
	addEventListener('beforeprint', () => {
		for (const d of document.querySelectorAll('#series details, #gpu details'))
			d.open = true;
		drawThese(charts.filter((chart) => chart.stale));
	}, {signal: page.ended.signal});
	return {view, charts, add, addLines, columns, forget, hint, set, all, place, drawTimes};
})();
