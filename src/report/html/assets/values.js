'use strict';
/* Numbers and texts as people read them, by the rules of core/text/units.c and plot/plot_axis.c. */
const values = (() => {
	/* As tables show them: nothing hidden, nothing that turns the direction. */
	const visible = (text) => String(text ?? '').replace(
		/[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
		(c) => c === '\n' ? '\\n' : c === '\t' ? '\\t' :
			(c < '\x80' ? '\\x' + c.charCodeAt(0).toString(16).padStart(2, '0') :
				'\\u' + c.charCodeAt(0).toString(16).padStart(4, '0')));
	const base = (path) => visible(path).replace(/^.*\/(?=.)/, '');
	const shorten = (text, n) => text.length > n ? text.slice(0, n - 1) + '\u2026' : text;

	/* ---- numbers: the rules of core/text/units.c ---- */
	const count = (v) => v == null ? '\u2013' : Math.round(v).toString().replace(/\B(?=(\d{3})+$)/g, ',');
	const digits = (v) => Math.abs(v) >= 999.5 || v === 0 ? v.toFixed(0) : String(Number(v.toPrecision(3)));
	const two = (v) => String(v).padStart(2, '0');
	const duration = (us) => {
		if (us == null)
			return '\u2013';
		const s = us / 1e6;
		if (s < 0)
			return '-' + duration(-us);
		if (s === 0)
			return '0 s';
		if (s < 0.0009995)
			return digits(s * 1e6) + ' us';
		if (s < 0.9995)
			return digits(s * 1e3) + ' ms';
		if (s < 99.95)
			return digits(s) + ' s';
		if (s < 3600)
			return Math.floor(s / 60) + ' min ' + two(Math.floor(s) % 60) + ' s';
		if (s < 86400)
			return Math.floor(s / 3600) + ' h ' + two(Math.floor(s / 60) % 60) + ' min';
		return Math.floor(s / 86400) + ' d ' + two(Math.floor(s / 3600) % 24) + ' h';
	};
	const powers = (names, by, from) => names.map((name, i) => [name, by ** (i + from)]);
	const binary = powers(['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'], 1024, 0);
	const decimal = powers(['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P'], 1000, -3);
	const thousands = powers(['', 'k', 'M', 'G', 'T', 'P'], 1000, 0);
	const times = [['ns', 1e-9], ['us', 1e-6], ['ms', 1e-3], ['s', 1], ['min', 60], ['h', 3600], ['d', 86400]];
	const seconds = powers(['ns', 'us', 'ms', 's', 'ks', 'Ms'], 1000, -3);
	const plain = [['', 1]];
	/* unit: [factor, prefixes, base, floating] */
	const known = {
		'bytes': [1, binary, ''], 'KiB': [1024, binary, ''], '512 bytes': [512, binary, ''],
		'us': [1e-6, times, ''], 'ns': [1e-9, times, ''], 's': [1, times, ''],
		'count': [1, thousands, ''], '1': [1, thousands, ''], 'cycles': [1, thousands, 'cycles'],
		'CPUs': [1, plain, 'CPUs'], '%': [1, plain, '%'], 'ratio': [1, plain, ''],
		'degC': [1, plain, '\u00b0C', true], 'J/s': [1, decimal, 'W'], 'Wh': [1, decimal, 'Wh'],
		'W': [1, decimal, 'W'], 'J': [1, decimal, 'J'], 'g': [1, decimal, 'g'], 'Hz': [1, decimal, 'Hz', true],
		'V': [1, decimal, 'V', true], 'A': [1, decimal, 'A'], 'rpm': [1, plain, 'rpm', true],
	};
	const unitOf = (unit) => {
		const rate = !Object.hasOwn(known, unit) && unit.endsWith('/s');
		const name = rate ? unit.slice(0, -2) : unit;
		const k = Object.hasOwn(known, name) ? known[name] : [1, thousands, visible(name).slice(0, 20)];
		const prefixes = rate && k[1] === times ? seconds : k[1];
		return {factor: k[0], prefixes, base: k[2] + (rate ? '/s' : ''), floating: Boolean(k[3]) && !rate,
			clock: prefixes === times, binary: prefixes === binary};
	};
	/* The place of the largest prefix that leaves at least 1. */
	const prefixFor = (u, v) => {
		const size = Math.abs(v) * (1 + 1e-9), p = u.prefixes;
		let i = 0;
		if (size === 0)
			while (p[i][1] < 1)
				i++;
		else
			while (i + 1 < p.length && size >= p[i + 1][1])
				i++;
		return u.clock && p[i][1] >= 60 && size < 2 * p[i][1] ? i - 1 : i;
	};
	const symbol = (u, i) => {
		const name = u.prefixes[i][0], word = u.prefixes === thousands && u.base && u.base[0] !== '/';
		return name || u.base ? ' ' + name + (word && name ? ' ' : '') + u.base : '';
	};
	const value = (unit, v) => {
		if (v == null || !Number.isFinite(v))
			return '-';
		const u = unitOf(unit), base = v * u.factor;
		let i = prefixFor(u, base);
		if (i + 1 < u.prefixes.length && !u.clock && Math.abs(base) >= u.prefixes[i + 1][1] * 0.9995)
			i++;
		return digits(base / u.prefixes[i][1]) + symbol(u, i);
	};
	/* As linear_axis() of plot/plot_axis.c: {low, high, ticks: [[value, label], ...]}. */
	const roundStep = (v) => {
		const power = 10 ** Math.floor(Math.log10(v)), m = v / power;
		return power * (m <= 1.03 ? 1 : m <= 2.06 ? 2 : m <= 5.15 ? 5 : 10);
	};
	const clockStep = (v, factor) => (v > 0.5 && (factor === 60 ? [1, 2, 5, 10, 15, 30, 60] : [1, 2, 3, 6, 12, 24])
		.find((s) => v <= s * 1.0000001)) || roundStep(v);
	const axis = (low, high, unit, about) => {
		const u = unitOf(unit);
		if (low > 0 && !(u.floating && low > high / 2))
			low = 0;
		if (high < 0)
			high = 0;
		if (high - low < Math.abs(high) * 1e-9 || high === low) {
			high = high > 0 ? high * 1.0001 : high + 1;
			low = low > 0 ? low * 0.9999 : low;
		}
		const most = Math.max(Math.abs(high), Math.abs(low)) * u.factor;
		let i = prefixFor(u, most);
		if (!u.binary && !u.clock && u.prefixes[i][1] > 1 && most < 2 * u.prefixes[i][1])
			i--;
		const factor = u.prefixes[i][1], one = factor / u.factor, want = (high - low) / one / about;
		const step = u.clock && (factor === 60 || factor === 3600) ? clockStep(want, factor) : roundStep(want);
		const first = Math.floor(low / one / step + 0.02), last = Math.ceil(high / one / step - 0.02);
		const places = step >= 1 ? 0 : Math.min(9, Math.ceil(-Math.log10(step) - 1e-9));
		const ticks = [];
		for (let k = first; k <= last && ticks.length < 64; k++)
			ticks.push([k * step * one, k ? (k * step).toFixed(places) + symbol(u, i) : '0']);
		return {low: first * step * one, high: last * step * one, ticks};
	};
	const bytes = (v) => v == null ? '\u2013' : value('bytes', v);

	/*
	 * The times of charts from begin to end, in us. zone: [offset], or [offset, time of a change, offset from then on], in
	 * seconds and us; null: times are durations since a start.
	 */
	const span = (begin, end, zone) => {
		const offsetAt = (us) => !zone ? 0 : (zone.length > 1 && us >= zone[1] ? zone[2] : zone[0]) * 1e6;
		const long = end - begin > 300 * 86400e6;
		/* day: with the day in front, where there is more than one */
		const clock = (us, step, day = true) => {
			const local = us + offsetAt(us), iso = new Date(Math.floor(local / 1000)).toISOString();
			if (!zone && end < 60e6) /* the decimals that the step needs */
				return (us / 1e6).toFixed(step >= 1e6 ? 0 : Math.min(6, Math.ceil(6 - Math.log10(step) - 1e-9))) + ' s';
			const date = zone ? iso.slice(long ? 0 : 5, 10) : Math.floor(local / 86400e6) + ' d';
			let text = step >= 86400e6 ? date : step >= 60e6 && (zone || end >= 3600e6) ? iso.slice(11, 16) :
				iso.slice(!zone && end < 3600e6 ? 14 : 11, 19);
			if (step < 1e6) {
				const n = Math.min(6, Math.max(1, 6 - Math.floor(Math.log10(step) + 1e-9)));
				text += '.' + String(Math.floor(((local % 1e6) + 1e6) % 1e6)).padStart(6, '0').slice(0, n);
			}
			return day && end - begin > 86400e6 && step < 86400e6 ? date + ' ' + text : text;
		};
		return {begin, end, offsetAt, clock};
	};

	return {visible, base, shorten, count, duration, value, axis, bytes, span};
})();
