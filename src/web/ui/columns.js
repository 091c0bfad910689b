/*
 * The columns of a list of jobs: how each is called, sorted and written. `metric` ones are numbers that plots can use.
 */
import {el, text} from './view.js';
import {jobLink} from './api.js';
import {amount, list, outcome, pairs, raw, shortTime, time} from './format.js';

const words = (name, label, more) => ({name, label, sort: name, text: (job) => text(job[name] ?? ''), ...more});
const figure = (name, label, unit, more) => ({name, label, unit, sort: name, n: true, metric: true,
	value: (job) => job[name], text: (job, plain) => (plain ? raw : (v) => amount(unit, v))(job[name]), ...more});
const moment = (name, label) => ({name, label, sort: name,
	whole: true, text: (job, plain) => plain ? job[name] ?? '' : shortTime(job[name]), title: (job) => time(job[name])});

const busy = (job) => job.duration > 0 && job.cpu_time !== null ? job.cpu_time / job.duration : null;
const status = (job) => {
	const [kind, said] = outcome(job);
	return el('span', {class: 'status ' + kind}, said);
};

export const columns = [
	{name: 'jobid', label: 'Job', sort: 'jobid', bare: true, fixed: true, id: true, title: (job) => text(job.jobid),
		cell: (job) => el('a', {href: jobLink(job.link || job.jobid)}, text(job.jobid))},
	{name: 'status', label: 'Status', bare: true, cell: status},
	words('jobname', 'Name', {long: true, bare: true}),
	words('user', 'User'),
	{name: 'hosts', label: 'Hosts', long: true, text: (job) => list(job.hosts)},
	moment('start', 'Start'),
	figure('duration', 'Duration', 'us'),
	figure('cpu_time', 'CPU time', 'us'),
	{name: 'busy', label: 'CPUs busy', n: true, metric: true, value: busy, unit: 'CPUs', help: 'CPU time by duration',
		text: (job) => busy(job) === null ? '' : busy(job).toFixed(2)},
	figure('processes', 'Processes', 'count'),
	figure('num_threads', 'Threads', 'count', {extra: true}),
	figure('images', 'Images', 'count', {extra: true}),
	figure('exitcode', 'Exit', 'count', {extra: true, metric: false}),
	moment('end', 'End'),
	moment('submit', 'Submitted'),
	moment('ingested', 'Stored'),
	words('cluster', 'Cluster', {extra: true}),
	{name: 'tags', label: 'Tags', extra: true, long: true, text: (job) => pairs(job.tags)},
	{name: 'annotations', label: 'Annotations', extra: true, long: true, text: (job) => pairs(job.annotations)},
	words('format', 'Format', {extra: true}),
	words('source', 'Source', {extra: true, long: true}),
];
for (const c of columns)
	c.extra = c.extra || ['end', 'submit', 'ingested'].includes(c.name);
export const usual = columns.filter((c) => !c.extra).map((c) => c.name);
export const metrics = columns.filter((c) => c.metric);
