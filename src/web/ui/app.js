/* Which page it is, and the navigation. Each page is a module with show(place), which reads its state from the link. */
import {openSession, pageLink, root, session} from './api.js';
import {el, failure} from './view.js';

const pages = [
	['', 'Jobs', './jobs.js'],
	['compare', 'Compare', './compare.js'],
	['experiments', 'Experiments', './experiments.js'],
	['models', 'Models', './models.js'],
	['alerts', 'Alerts', './alerts.js'],
	['nodes', 'Nodes', './nodes.js'],
	['inbox', 'Inbox', './inbox.js'],
	['sql', 'SQL', './sql.js'],
];
const path = location.pathname.slice(root.pathname.length).replace(/\/$/, '');
const here = path.startsWith('job/') ? ['job', 'Job', './job.js'] : pages.find(([at]) => at === path);
const place = document.getElementById('page');

document.getElementById('pages').append(el('ul', {}, pages.map(([at, label]) => el('li', {}, el('a', {
	href: pageLink(at), 'aria-current': here && at === here[0] ? 'page' : null}, label)))));
document.getElementById('pages').querySelector('[aria-current]')?.scrollIntoView({block: 'nearest', inline: 'center'});

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
	(await module).show(place);
};
start();
