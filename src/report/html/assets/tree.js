'use strict';
/*
 * The process tree by CPU time, wall time, memory or I/O, with a click to look closer; and the
 * processes over time, coloured by executable or by tag. Both mark what is searched for.
 */

/* Executables with the most CPU time have colours of their own, as in the page as it was written. */
page.colorOf = (() => {
	const places = new Map(page.data.executables.list.slice(0, 8).map((g, i) => [g.name, i]));
	return (name) => 'q' + (places.get(name) ?? 8);
})();
page.fades = (name) => page.search && !name.toLowerCase().includes(page.search);

/* ---- the tree ---- */
(() => {
	const place = document.getElementById('flame');
	if (!place)
		return;
	const ROW = 19, ROWS = 40, NARROWEST = 0.12, LABELLED = 2.2;
	const names = page.data.names;
	const known = (v) => v >= 0 ? v : null;
	const nodes = page.data.flame.map(([parent, name, depth, processes, cpu, wall, rss, io]) => ({parent, name,
		depth, processes, cpu: known(cpu), wall: known(wall), rss: known(rss), io: known(io)}));
	const measures = [
		['cpu', 'CPU time', page.duration],
		['wall', 'Wall time', page.duration],
		['rss', 'Memory', (v) => page.value('KiB', v)],
		['io', 'I/O', page.bytes],
	].filter(([m]) => nodes.some((n) => n[m] > 0));
	let by = measures[0], focus = -1, current = -1, drawn = new Map();

	/* A node is at least as wide as all below it. */
	const widths = () => {
		const w = nodes.map((n) => Math.max(0, n[by[0]] || 0)), sums = new Float64Array(nodes.length);
		let all = 0;
		for (let i = nodes.length; i-- > 0;) {
			w[i] = Math.max(w[i], sums[i]);
			if (nodes[i].parent < i)
				sums[nodes[i].parent] += w[i];
			else
				all += w[i];
		}
		const x = new Float64Array(nodes.length), used = new Float64Array(nodes.length);
		let roots = 0;
		nodes.forEach((n, i) => {
			if (n.parent < i) {
				x[i] = x[n.parent] + used[n.parent];
				used[n.parent] += w[i];
			} else {
				x[i] = roots;
				roots += w[i];
			}
		});
		return {w, x, all};
	};
	const pathTo = (i) => {
		const path = new Set();
		for (; i >= 0 && !path.has(i); i = nodes[i].parent)
			path.add(i);
		return path;
	};
	const svg = place.querySelector('svg');
	const about = page.html('span', {class: 'dim', role: 'status'});
	const draw = () => {
		const {w, x, all} = widths();
		const from = focus < 0 ? 0 : x[focus], span = (focus < 0 ? all : w[focus]) || 1;
		const above = focus < 0 ? new Set() : pathTo(focus);
		const parts = [];
		let rows = 1;
		drawn = new Map();
		nodes.forEach((n, i) => {
			let left = (x[i] - from) / span * 100, width = w[i] / span * 100;
			if (above.has(i)) {
				left = 0;
				width = 100;
			}
			if (width < NARROWEST || left > 99.999 || left + width < 0.001 || n.depth >= ROWS)
				return;
			rows = Math.max(rows, n.depth + 1);
			const name = names[n.name];
			const box = page.svg('svg', {x: left.toFixed(3) + '%', y: n.depth * ROW,
				width: width.toFixed(3) + '%', height: ROW - 1, 'data-node': i,
				class: page.fades(name) ? 'faded' : i === current ? 'hot' : ''});
			box.append(page.svg('rect', {class: page.colorOf(name), width: '100%', height: '100%'}));
			if (width >= LABELLED)
				box.append(page.svg('text', {x: 4, y: 13}, page.shorten(page.base(name), 60) +
					(n.processes > 1 ? ' \u00d7' + page.count(n.processes) : '') +
					(width > 12 ? '  ' + by[2](n[by[0]]) : '')));
			drawn.set(i, box);
			parts.push(box);
		});
		svg.replaceChildren(...parts);
		svg.setAttribute('height', rows * ROW);
		about.textContent = focus < 0 ? '' : 'showing ' + page.shorten(page.base(names[nodes[focus].name]), 60);
		out.hidden = focus < 0;
	};
	const rowsOf = (n) => {
		const rows = [['', 'processes', page.count(n.processes)]];
		for (const [m, title, text] of measures)
			rows.push(['', title, text(n[m])]);
		return rows;
	};
	const describe = (i) => page.tipTable(page.shorten(page.visible(names[nodes[i].name]), 200), rowsOf(nodes[i]));
	const look = (i) => {
		focus = nodes[i].parent === i && nodes.filter((n, k) => n.parent === k).length === 1 ? -1 : i;
		draw();
	};
	const nodeOf = (event) => {
		const box = event.target.closest('[data-node]');
		return box && svg.contains(box) ? Number(box.dataset.node) : -1;
	};
	/* The boxes that the page came with have no numbers: they are replaced when first touched. */
	let ready = false;
	const start = () => {
		if (!ready)
			draw();
		ready = true;
	};
	svg.addEventListener('pointerenter', start);
	svg.addEventListener('pointermove', (event) => {
		start();
		const i = nodeOf(event);
		if (i >= 0)
			page.showTip(describe(i), event.clientX, event.clientY);
		else
			page.hideTip();
	});
	svg.addEventListener('pointerleave', page.hideTip);
	svg.addEventListener('click', (event) => {
		start();
		const i = nodeOf(event);
		if (i >= 0) {
			current = i;
			look(i);
		}
	});

	/* ---- keys: to children, siblings and back, enter looks closer ---- */
	const step = (key) => {
		const n = nodes[current];
		const children = (of) => [...drawn.keys()].filter((k) => nodes[k].parent === of && k !== of);
		if (key === 'ArrowDown')
			return children(current)[0];
		if (key === 'ArrowUp')
			return n.parent === current ? undefined : n.parent;
		const all = n.parent === current ? [...drawn.keys()].filter((k) => nodes[k].parent === k) : children(n.parent);
		return all[all.indexOf(current) + (key === 'ArrowRight' ? 1 : -1)];
	};
	svg.setAttribute('tabindex', '0');
	svg.addEventListener('keydown', (event) => {
		start();
		if (current < 0)
			current = focus < 0 ? 0 : focus;
		else if (event.key.startsWith('Arrow'))
			current = step(event.key) ?? current;
		else if (event.key === 'Enter')
			look(current);
		else if (event.key === 'Escape' || event.key === '0')
			focus = -1;
		else
			return;
		event.preventDefault();
		draw();
		const box = drawn.get(current)?.getBoundingClientRect();
		if (box)
			page.showTip(describe(current), box.left + 10, box.bottom);
	});
	svg.addEventListener('blur', page.hideTip);

	/* ---- the choice ---- */
	const tools = page.html('div', {class: 'tools', role: 'group', 'aria-label': 'width of the boxes'}, 'Width:');
	const buttons = measures.map((m) => {
		const b = page.html('button', {type: 'button', 'aria-pressed': m === by, 'data-measure': m[0]}, m[1]);
		b.addEventListener('click', () => {
			by = m;
			ready = true;
			for (const other of buttons)
				other.setAttribute('aria-pressed', other === b);
			draw();
		});
		return b;
	});
	const out = page.html('button', {type: 'button', hidden: ''}, 'Whole tree');
	out.addEventListener('click', () => {
		focus = -1;
		draw();
	});
	tools.append(...buttons, out, about);
	if (measures.length)
		place.before(tools);
	page.listeners.push(() => {
		ready = true;
		draw();
	});
})();

/* ---- processes over time ---- */
(() => {
	const place = document.getElementById('gantt');
	if (!place)
		return;
	const names = page.data.names, origin = page.data.origin;
	const bars = page.data.bars.map(([start, length, name, tags, lane, processes, pid, cpu, failed]) => ({
		start: origin + start, end: origin + start + length, name, tags, lane, processes, pid, cpu, failed}));
	const svg = place.querySelector('svg');
	const legend = document.getElementById('gantt-legend'), original = [...legend.children];
	const lanes = bars.reduce((n, b) => Math.max(n, b.lane + 1), 1);
	const height = Number(svg.getAttribute('height')) / lanes;
	const tagged = bars.some((b) => b.tags);
	let byTag = false;

	const tagColors = (() => {
		const cpu = new Map();
		for (const b of bars)
			if (b.tags)
				cpu.set(b.tags, (cpu.get(b.tags) || 0) + (b.cpu || 0) + 1);
		return new Map([...cpu].sort((a, b) => b[1] - a[1]).map(([t], i) => [t, Math.min(i, 8)]));
	})();
	const draw = timeBars({place, bars, height, word: 'bars',
		colorOf: (b) => byTag ? 'q' + (b.tags ? tagColors.get(b.tags) : 8) : page.colorOf(names[b.name]),
		faded: (b) => page.fades(names[b.name]),
		labelOf: (b) => page.shorten(page.base(names[b.name]), 60) + (b.processes > 1 ? ' \u00d7' + page.count(b.processes) : ''),
		titleOf: (b) => page.shorten(page.visible(names[b.name]), 200),
		rowsOf: (b) => {
			const list = [['', b.processes > 1 ? 'processes' : 'process', b.processes > 1 ? page.count(b.processes) : 'pid ' + b.pid],
				['', 'from', page.clock(b.start, 1000)], ['', b.processes > 1 ? 'over' : 'ran', page.duration(b.end - b.start)],
				['', 'CPU time', page.duration(b.cpu)]];
			if (b.tags)
				list.push(['', 'tags', page.shorten(page.visible(names[b.tags]), 120)]);
			if (b.failed)
				list.push(['', 'ended', b.processes > 1 ? 'some with an error' : 'with an error']);
			return list;
		},
		/* whoever shows processes can listen: the pages of the server do */
		open: (b) => dispatchEvent(new CustomEvent('plimsoll-process', {detail: {pid: b.processes > 1 ? null : b.pid,
			name: page.base(names[b.name])}}))});

	const choose = (tags) => {
		byTag = tags;
		draw();
		legend.replaceChildren(...(!tags ? original : [...tagColors].slice(0, 8).map(([t, i]) =>
			page.html('li', {class: 'q' + i}, page.shorten(page.visible(names[t]), 60))).concat(
			tagColors.size > 8 ? [page.html('li', {class: 'q8'}, (tagColors.size - 8) + ' others, or none')] : [])));
	};
	if (tagged) {
		const buttons = ['executable', 'tag'].map((word, i) => {
			const b = page.html('button', {type: 'button', 'aria-pressed': !i}, word);
			b.addEventListener('click', () => {
				choose(i === 1);
				buttons.forEach((other, k) => other.setAttribute('aria-pressed', k === i));
			});
			return b;
		});
		place.before(page.html('div', {class: 'tools', role: 'group', 'aria-label': 'colours'}, 'Colour by:', ...buttons));
	}
	page.listeners.push(() => draw());
})();
performance.mark('interactive');
