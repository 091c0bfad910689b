/* Which page it is, and the navigation. Each page is a module with show(place), which reads its state from the link. */
import {mayAs, openSession, pageLink, root, send, session} from './api.js';
import {el, failure, text} from './view.js';

const pages = [ /* address, name, module, who may see it if not all */
	['', 'Jobs', './jobs.js'],
	['compare', 'Compare', './compare.js'],
	['experiments', 'Experiments', './experiments.js'],
	['models', 'Models', './models.js'],
	['alerts', 'Alerts', './alerts.js'],
	['nodes', 'Nodes', './nodes.js', 'support'],
	['inbox', 'Inbox', './inbox.js', 'support'],
	['sql', 'SQL', './sql.js'],
];
const path = location.pathname.slice(root.pathname.length).replace(/\/$/, '');
const here = path.startsWith('job/') ? ['job', 'Job', './job.js'] : pages.find(([at]) => at === path);
const place = document.getElementById('page');

document.getElementById('pages').append(el('ul', {}, pages.map(([at, label, , role]) => el('li', {'data-role': role}, el('a', {
	href: pageLink(at), 'aria-current': here && at === here[0] ? 'page' : null}, label)))));
document.getElementById('pages').querySelector('[aria-current]')?.scrollIntoView({block: 'nearest', inline: 'center'});

/* Who is signed in; pages that this user may not see are not offered. */
const showWho = () => {
	if (session.role === 'job') /* a link to one job leads nowhere else */
		document.getElementById('pages').replaceChildren();
	for (const page of document.querySelectorAll('#pages [data-role]'))
		page.hidden = !mayAs(page.dataset.role);
	if (!session.signed_in)
		return;
	const out = el('button', {type: 'button', onclick: async () => {
		out.disabled = true;
		try {
			await send('POST', 'logout');
		} catch { /* then the session has ended already */ }
		location.assign(pageLink(''));
	}}, 'Sign out');
	document.getElementById('theme').before(el('span', {class: 'who'}, el('span', {title: 'role: ' + session.role},
		text(session.user)), out));
};

const start = async () => {
	if (!here) {
		place.replaceChildren(failure({status: 404, message: 'There is no page /' + path + '.'}));
		return;
	}
	document.title = here[1] + ' \u2013 Plimsoll';
	document.body.classList.add('page-' + (here[0] || 'jobs'));
	const module = import(here[2]);
	try {
		await openSession();
	} catch { /* the page itself says so, and tries again */ }
	document.body.classList.toggle('write', session.write);
	showWho();
	(await module).show(place);
};
start();
