/* The API of the server: JSON in and out; what fails becomes an error that says what to do. */

export const root = new URL('..', import.meta.url); /* with the base path, whatever a proxy made of it */
const api = new URL('api/v1/', root);

export class Failure extends Error {
	constructor(status, message, remedy, login = null) {
		super(message);
		this.status = status;
		this.remedy = remedy;
		this.login = login; /* the address of the page to sign in */
		/* what may be different soon: no answer, no session, no store, too many requests */
		this.passing = status === 0 || status === 401 || status === 429 || status >= 500;
	}
}

export const session = {user: null, role: 'admin', signed_in: false, write: false, csrf: '', version: '', store: ''};
/* May this user do what the role allows? Without an answer of the server: yes, it decides. */
export const mayAs = (role) => session.role === 'admin' || session.role === role;

const address = (base, path, params = {}) => {
	const url = new URL(path.replace(/^\//, ''), base);
	for (const [name, value] of Object.entries(params))
		for (const one of Array.isArray(value) ? value : [value])
			if (one !== null && one !== undefined && one !== '' && one !== false)
				url.searchParams.append(name, one === true ? '1' : one);
	return url;
};
/* The address of a page, for links. */
export const pageLink = (path, params) => {
	const url = address(root, path, params);
	return url.pathname + url.search;
};
export const apiLink = (path, params) => {
	const url = address(api, path, params);
	return url.pathname + url.search;
};
export const name = (text) => encodeURIComponent(text);
export const jobLink = (job) => pageLink('job/' + name(job));

const signsIn = (remedy) => String(remedy).includes('/login');
const refused = async (answer) => {
	let said = {};
	try {
		said = await answer.json();
	} catch { /* not of the API: a proxy answers in its own words */ }
	if (answer.status === 401)
		return new Failure(401, 'This browser has no session, or it has ended.', signsIn(said.remedy) ?
			'Sign in again; this page then goes on by itself.' :
			'Run `plimsoll serve --link` and open the link that it prints; this page then goes on by itself.',
		signsIn(said.remedy) ? pageLink('login') : null);
	return new Failure(answer.status, said.error || 'The server answers ' + answer.status + ' ' + answer.statusText + '.',
		said.remedy);
};
const ask = async (url, options) => {
	let answer;
	try {
		answer = await fetch(url, {credentials: 'same-origin', cache: 'no-cache', ...options});
	} catch (error) {
		if (error.name === 'AbortError')
			throw error;
		throw new Failure(0, 'The server does not answer.',
			'If it was stopped, start it again with `plimsoll serve`; this page then goes on by itself.');
	}
	if (!answer.ok)
		throw await refused(answer);
	return answer;
};

export const getText = async (path, params, signal) => (await ask(address(api, path, params), {signal})).text();
export const get = async (path, params, signal) => (await ask(address(api, path, params), {signal})).json();

/* Changes something, or asks with a body. accept: for other answers than JSON, which come as a Blob. */
export const send = async (method, path, body, {accept, signal} = {}) => {
	const headers = {'X-Plimsoll-CSRF': session.csrf};
	if (body !== undefined)
		headers['Content-Type'] = 'application/json';
	if (accept)
		headers.Accept = accept;
	const answer = await ask(address(api, path), {method, headers, signal,
		body: body === undefined ? undefined : JSON.stringify(body)});
	if (accept)
		return answer.blob();
	const text = await answer.text();
	return text ? JSON.parse(text) : null;
};

export const openSession = async (signal) => Object.assign(session, await get('session', {}, signal));

/* Offers data as a file. */
export const save = (blob, file) => {
	const url = URL.createObjectURL(blob);
	elements.html('a', {href: url, download: file}).click();
	setTimeout(() => URL.revokeObjectURL(url), 10000);
};
