/* The newest jobs that a filter selects, for pages that show many of them at once. */
import {get} from './api.js';

const MOST = 2000, PAGE = 500;
export const newest = async (where, signal) => {
	const jobs = [];
	let after = null, total = null;
	do {
		const data = await get('jobs', {where, sort: 'start', desc: true, limit: PAGE, after}, signal);
		jobs.push(...data.jobs);
		after = data.next;
		total = data.total;
	} while (after && jobs.length < MOST);
	return {jobs, total, more: Boolean(after)};
};
