/* Times and metrics of the API as people read them, or raw. */
import {dash, known, text} from './view.js';

/* "2026-11-15 04:05:06": the time of the place that wrote it */
export const time = (iso) => known(iso) ? String(iso).slice(0, 19).replace('T', ' ') : dash;
export const shortTime = (iso) => known(iso) ? String(iso).slice(0, 16).replace('T', ' ') : dash;
/* a date of the browser knows milliseconds */
export const microseconds = (iso) => known(iso) ? Date.parse(iso) * 1000 + Number(/\.\d{3}(\d{3})/.exec(iso)?.[1] || 0) : null;

export const number = (v) => v === null || v === undefined ? dash : values.count(v);
export const percent = (share) => known(share) ? (share * 100).toFixed(Math.abs(share) < 0.0995 ? 1 : 0) + ' %' : dash;
export const signed = (share) => known(share) ? (share > 0 ? '+' : share < 0 ? '\u2212' : '') +
	(Math.abs(share) * 100).toFixed(Math.abs(share) < 0.0995 ? 1 : 0) + ' %' : dash;
export const amount = (unit, v) => !known(v) ? dash : unit === 'us' ? values.duration(v) :
	unit === 'count' || unit === '1' || unit === '' ? values.count(v) : values.value(unit, v);
export const raw = (v) => known(v) ? String(v) : dash;
export const list = (items) => text((items || []).join(', ')) || dash;
export const pairs = (o) => Object.entries(o || {}).map(([k, v]) => text(k) + ':' +
	text(typeof v === 'string' ? v : JSON.stringify(v))).join(' ') || dash;

/* How a job ended: [class, words] */
export const outcome = (job) => {
	const status = job.status || job.state || (job.running || job.open || !known(job.end) ? 'running' :
		job.exitcode ? 'failed' : known(job.exitcode) ? 'completed' : 'unknown');
	if (status === 'failed')
		return ['failed', known(job.exitcode) ? 'failed, exit ' + job.exitcode : 'failed'];
	return [status, status];
};
