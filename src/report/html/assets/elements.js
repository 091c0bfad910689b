'use strict';
/*
 * Elements, the box under the pointer, and the choice of light or dark. All text goes into a page as text, never as
 * markup.
 */
const elements = (() => {
	const SVG = 'http://www.w3.org/2000/svg';
	const svg = (name, attributes, text) => {
		const e = document.createElementNS(SVG, name);
		for (const key in attributes)
			e.setAttribute(key, attributes[key]);
		if (text !== undefined)
			e.textContent = text;
		return e;
	};
	const html = (name, attributes, ...inside) => {
		const e = document.createElement(name);
		for (const key in attributes)
			e.setAttribute(key, attributes[key]);
		e.append(...inside);
		return e;
	};

	/* ---- the box under the pointer ---- */
	const tip = html('div', {id: 'tip', role: 'status', hidden: ''});
	const showTip = (content, x, y) => {
		tip.replaceChildren(...content);
		tip.hidden = false;
		const w = tip.offsetWidth, h = tip.offsetHeight;
		const left = x + 16 + w > innerWidth ? x - 16 - w : x + 16;
		const top = y + 16 + h > innerHeight ? y - 16 - h : y + 16;
		tip.style.left = Math.max(4, Math.min(left, innerWidth - w - 4)) + 'px';
		tip.style.top = Math.max(4, top) + 'px';
	};
	const hideTip = () => { tip.hidden = true; };
	/* rows: [class of the key, name, value] */
	const tipTable = (title, rows) => [html('b', {}, title), html('table', {},
		...rows.map(([key, name, v]) => html('tr', {},
			html('td', {class: key ? 'key ' + key : ''}, name), html('td', {class: 'n'}, v))))];

	document.body.append(tip);
	return {svg, html, showTip, hideTip, tipTable};
})();

/* ---- light and dark ---- */
(() => {
	const root = document.documentElement;
	const button = elements.html('button', {id: 'theme', type: 'button'});
	const dark = () => root.dataset.theme ? root.dataset.theme === 'dark' :
		matchMedia('(prefers-color-scheme: dark)').matches;
	const label = () => {
		button.textContent = dark() ? 'Light' : 'Dark';
		button.setAttribute('aria-label', dark() ? 'use light colours' : 'use dark colours');
	};
	try { /* pages from a file may have no storage */
		const kept = localStorage.getItem('plimsoll-theme');
		if (kept === 'dark' || kept === 'light')
			root.dataset.theme = kept;
	} catch (e) { /* the theme of the system it is */ }
	button.addEventListener('click', () => {
		root.dataset.theme = dark() ? 'light' : 'dark';
		try {
			localStorage.setItem('plimsoll-theme', root.dataset.theme);
		} catch (e) { /* then it is not kept */ }
		label();
	});
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', label);
	label();
	document.getElementById('top').append(button);
	root.classList.add('live');
})();
