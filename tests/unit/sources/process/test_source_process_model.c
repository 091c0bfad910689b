/*
 * The account of a job's processes against a small model of the kernel: random processes that work,
 * fork, end and are waited for while a reading is taken, and the rules that must hold always.
 */
#include "source_process_members.h"

#define MODEL_MAX 60

struct model_process {
	int pid, parent; /* parent: index, -1 is outside */
	uint64_t start, own, kids, faults, kids_faults;
	bool alive, zombie, ignores;
};

/* How the processes of a model behave. */
struct manners {
	bool careful;  /* who has children lives until they are waited for */
	bool ignoring; /* some do not wait for their children, ever */
	bool fickle;   /* and change their mind */
	bool records;  /* the kernel's exit records are there */
	bool attached; /* they have a past when we come */
	bool stutter;  /* some cannot be read now and then */
};

struct model {
	struct world w;
	struct model_process p[MODEL_MAX];
	struct manners how;
	struct process_exits exits;
	uint64_t random, clock;
	uint64_t truth; /* all that the job used */
	int next_pid;
};

static uint64_t pick(struct model *k, uint64_t n)
{
	return random_next(&k->random) % n;
}

static void model_work(struct model_process *p, struct model *k)
{
	uint64_t t = pick(k, 5);

	p->own += t;
	p->faults += 1 + pick(k, 9);
	k->truth += t;
}

static void model_fork(struct model *k, int parent)
{
	for (int i = 0; i < MODEL_MAX; i++) {
		if (k->p[i].alive)
			continue;
		k->p[i] = (struct model_process){
			.pid = k->next_pid, .parent = parent, .start = ++k->clock, .alive = true};
		k->p[i].ignores = k->how.ignoring && !pick(k, 3);
		/* numbers go around; records, which know no start, come before they are used again
		 */
		k->next_pid = k->next_pid >= (k->how.records ? 2000 : 90) ? 10 : k->next_pid + 1;
		for (int j = 0; j < MODEL_MAX; j++)
			if (j != i && k->p[j].alive && k->p[j].pid == k->p[i].pid)
				k->p[i].alive = false;
		if (k->p[i].alive)
			model_work(&k->p[i], k);
		return;
	}
}

/* The parent waits: what the child had joins its account. */
static void model_wait(struct model *k, int i)
{
	struct model_process *p = &k->p[i];

	if (p->parent >= 0 && !k->p[p->parent].ignores) {
		k->p[p->parent].kids += p->own + p->kids;
		k->p[p->parent].kids_faults += p->faults + p->kids_faults;
	}
	p->alive = false;
}

static void model_exit(struct model *k, int i)
{
	struct model_process *p = &k->p[i];

	for (int j = 0; j < MODEL_MAX && k->how.careful; j++)
		if (k->p[j].alive && k->p[j].parent == i)
			return;
	p->zombie = true;
	if (k->how.records) {
		int ppid = p->parent < 0 ? 1 : k->p[p->parent].pid;
		struct task_exit x = record(p->pid, p->pid, ppid, p->own, p->faults);

		process_exits_take(&k->exits, &x);
	}
	for (int j = 0; j < MODEL_MAX; j++)
		if (k->p[j].alive && k->p[j].parent == i) {
			k->p[j].parent = -1;
			if (k->p[j].zombie)
				model_wait(k, j);
		}
	if (p->parent < 0 || k->p[p->parent].ignores)
		model_wait(k, i);
}

/* Something happens to a process. */
static void model_step(struct model *k)
{
	int i = (int)pick(k, MODEL_MAX);
	struct model_process *p = &k->p[i];

	if (!p->alive)
		return;
	if (p->zombie) {
		model_wait(k, i);
		return;
	}
	switch (pick(k, 4)) {
	case 0:
		model_fork(k, i);
		break;
	case 1:
		if (i) /* the first one lives on */
			model_exit(k, i);
		break;
	default:
		model_work(p, k);
		break;
	}
}

static int model_find(const struct model *k, int pid, uint64_t start)
{
	for (int i = 0; i < MODEL_MAX; i++)
		if (k->p[i].alive && k->p[i].pid == pid && k->p[i].start == start)
			return i;
	return -1;
}

static bool model_gone(void *user, struct member *one)
{
	return model_find(user, one->pid, one->starttime) < 0;
}

static bool model_exists(void *user, int pid)
{
	const struct model *k = user;

	for (int i = 0; i < MODEL_MAX; i++)
		if (k->p[i].alive && k->p[i].pid == pid)
			return true;
	return false;
}

/* A reading, while so many things happen. */
static void model_read(struct model *k, int steps)
{
	struct members *m = &k->w.m;

	k->w.count = 0;
	for (int i = 0; i < MODEL_MAX; i++)
		if (k->p[i].alive)
			add(&k->w, k->p[i].pid, k->p[i].parent < 0 ? 1 : k->p[k->p[i].parent].pid,
			    k->p[i].start);
	for (int i = 0; i < steps; i++)
		model_step(k);
	begin(&k->w);
	for (size_t i = 0; i < m->count; i++) {
		struct member *one = m->by_age[i];

		if (one->state != MEMBER_LIVE)
			continue;
		for (int s = 0; s < steps; s++)
			model_step(k);
		int at = model_find(k, one->pid, one->starttime);
		if (at < 0) {
			one->state = MEMBER_LATE;
			continue;
		}
		if (k->how.stutter && steps && !pick(k, 10))
			continue;
		const struct model_process *p = &k->p[at];
		uint64_t own[USAGE_END] = {
			[USAGE_USER] = p->own * TICK, [USAGE_MINFLT] = p->faults};
		uint64_t kids[USAGE_KIDS_END] = {
			[USAGE_USER] = p->kids * TICK, [USAGE_MINFLT] = p->kids_faults};
		one->ppid = p->parent < 0 ? 1 : k->p[p->parent].pid;
		member_took(m, one, own, kids);
	}
	process_exits_settle(&k->exits);
	members_settle(m);
}

/* What happened so far was before we watched: of those alive only what they did themselves counts.
 */
static void model_attach(struct model *k)
{
	for (int i = 0; i < 400; i++)
		model_step(k);
	k->w.m.since_ticks = k->clock + 1;
	k->exits.count = 0;
	k->truth = 0;
	for (int i = 0; i < MODEL_MAX; i++)
		k->truth += k->p[i].alive ? k->p[i].own : 0;
	model_read(k, 0);
}

static void run_model(uint64_t seed, struct manners how)
{
	struct model *k = xcalloc(1, sizeof(*k));
	uint64_t before = 0;

	k->random = seed * 0x9e3779b97f4a7c15ull + 1;
	k->next_pid = 10;
	k->how = how;
	k->w.m = (struct members){.gone = model_gone, .exists = model_exists, .user = k};
	k->exits = (struct process_exits){.listener = {.fd = -1}, .members = &k->w.m};
	model_fork(k, -1);
	if (how.attached)
		model_attach(k);
	for (int round = 0; round < 60; round++) {
		int slot = (int)pick(k, MODEL_MAX);

		if (how.fickle)
			k->p[slot].ignores = !k->p[slot].ignores;
		for (uint64_t n = pick(k, 40); n; n--)
			model_step(k);
		model_read(k, (int)pick(k, 4));
		/* never more than there was, never less than before */
		if (ticks(&k->w) > k->truth || ticks(&k->w) < before)
			fail_msg("seed %llu round %d: %llu of %llu, before %llu",
				 (unsigned long long)seed, round, (unsigned long long)ticks(&k->w),
				 (unsigned long long)k->truth, (unsigned long long)before);
		before = ticks(&k->w);
		/* once nothing happens meanwhile it is all there, if all are waited for */
		model_read(k, 0);
		model_read(k, 0);
		if (how.careful && !how.ignoring)
			assert_int_equal(ticks(&k->w), k->truth);
		before = ticks(&k->w);
	}
	/* else nearly all */
	assert_true(ticks(&k->w) * 100 + 500 >= k->truth * (how.records ? 95 : 85));
	members_release(&k->w.m);
	process_exits_close(&k->exits);
	free(k);
}

static void run_models(struct manners how)
{
	for (uint64_t seed = 1; seed <= 200; seed++)
		run_model(seed, how);
}

static void a_kernel_where_all_are_waited_for(void **state)
{
	(void)state;
	run_models((struct manners){.careful = true});
	run_models((struct manners){.careful = true, .records = true});
	run_models((struct manners){.careful = true, .attached = true});
	run_models((struct manners){.careful = true, .attached = true, .records = true});
	run_models((struct manners){.careful = true, .stutter = true});
	run_models((struct manners){.careful = true, .stutter = true, .records = true});
}

static void a_kernel_where_some_do_not_wait(void **state)
{
	(void)state;
	run_models((struct manners){.careful = true, .ignoring = true});
	run_models((struct manners){.careful = true, .ignoring = true, .fickle = true});
	run_models((struct manners){.careful = true, .ignoring = true, .records = true});
}

static void a_kernel_with_orphans(void **state)
{
	(void)state;
	run_models((struct manners){0});
	run_models((struct manners){.records = true});
	run_models((struct manners){.attached = true, .ignoring = true});
	run_models((struct manners){.ignoring = true, .fickle = true});
	run_models((struct manners){.ignoring = true, .fickle = true, .records = true});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kernel_where_all_are_waited_for),
		cmocka_unit_test(a_kernel_where_some_do_not_wait),
		cmocka_unit_test(a_kernel_with_orphans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
