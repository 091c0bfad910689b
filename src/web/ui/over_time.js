/* The report's own scripts on the pages of the server: charts and bars over time, which zoom together. */
import {root} from './api.js';
import {el} from './view.js';

/* They are fetched together, and run one after the other. */
export const runScripts = (files) => Promise.all(files.map((file) => new Promise((done, fail) => {
	const e = el('script', {src: new URL('ui/' + file, root).pathname, onload: () => { e.remove(); done(); },
		onerror: () => fail(new Error('cannot load ' + file))});
	e.async = false;
	document.body.append(e);
})));

/*
 * Makes zoom (charts.js) and timeBars (bars.js) for the times from begin to end, in us, where there is no report. zone: as in
 * values.span(). What was drawn with the ones before must be gone.
 */
export const openCharts = async (begin, end, zone) => {
	window.page?.ended?.abort(); /* at first the element with this id */
	document.getElementById('range')?.remove();
	window.page = {...values, ...elements, data: {}, ...values.span(begin, end, zone), listeners: [], search: '',
		ended: new AbortController()};
	await runScripts(['charts.js', 'bars.js']);
};

const svg = (name, more) => elements.svg('svg', {class: name, ...more});
/* An empty chart of lines, for zoom.addLines(). */
export const lineChart = (title, lines) => el('figure', {class: 'chart'}, el('figcaption', {}, el('b', {}, title)),
	el('div', {class: 'axes'}, svg('ys', {'aria-hidden': 'true'}), svg('plot', {viewBox: '0 -3 1000 206', preserveAspectRatio: 'none',
		role: 'img', 'aria-label': title}), svg('xs', {'aria-hidden': 'true'})),
	el('ul', {class: 'legend'}, lines.map((line, i) => el('li', {class: 'k' + Math.min(i, 8)}, line.name))));
/* A place for timeBars(), height pixels high. */
export const barPlace = (label, height) => el('div', {class: 'gantt'}, svg('bars', {height, role: 'img', 'aria-label': label}),
	svg('xs', {'aria-hidden': 'true'}));
