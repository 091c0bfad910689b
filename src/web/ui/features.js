/* The features by which jobs are compared with models: their units, and their values in the summary of a job. */
const units = {cpu_time: 'us', duration: 'us', usertime: 'us', systemtime: 'us', cutime: 'us', cstime: 'us',
	inclusive_cpu_time: 'us', exclusive_time: 'us', guest_time: 'us', rssmax: 'KiB', rchar: 'bytes', wchar: 'bytes',
	read_bytes: 'bytes', write_bytes: 'bytes', cancelled_write_bytes: 'bytes', time_oncpu: 'ns', time_waiting: 'ns'};
export const featureUnit = (feature) => Object.hasOwn(units, feature) ? units[feature] : 'count';
/* As `plimsoll features` takes them: sums over the processes. */
export const featureValue = (job, feature) => ['cpu_time', 'duration', 'num_procs', 'num_threads'].includes(feature) ? job[feature] :
	job.sums?.[feature] ?? null;
