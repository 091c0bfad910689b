/*
 * Fills a store with the jobs of a computing centre: users of whom some run much more than others,
 * experiments with components and years, members of ensembles, queues, nodes, failures, time
 * limits, jobs that waste what they were given, and some that run now.
 *     bench-site URL JOBS [USERS [DAYS [SEED]]]
 * prints "jobs seconds jobs/s". The same arguments make the same jobs, as of now. Rows go through
 * the bulk writers of the store, many jobs in a transaction; processes are not among them.
 */
#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "core/text/json_writer.h"
#include "store/ingest/merge_streamed.h"
#include "store/job_words.h"
#include "store/store.h"

#define NODES 512
#define GPU_NODES 32
#define JOBS_AT_ONCE 20000
#define SECOND INT64_C(1000000)
#define DAY (86400 * SECOND)
/* Data of running jobs are from the future, so that they still run when somebody looks. */
#define RUNS_ON (30 * DAY)
#define HOSTS_MAX 64
#define TAGS_MAX 8

static uint64_t seed_state;

static uint64_t random_u64(void)
{
	uint64_t z = seed_state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static unsigned below(unsigned n)
{
	return (unsigned)(random_u64() % n);
}

static double part(void)
{
	return (double)(random_u64() >> 11) / 9007199254740992.0;
}

static bool chance(double p)
{
	return part() < p;
}

/* Small numbers are much more frequent. */
static unsigned skewed(unsigned n)
{
	double x = part();

	return (unsigned)(x * x * x * n);
}

#define PICK(list) list[below(ARRAY_SIZE(list))]

/* ---- what a site has ------------------------------------------------------------------------ */

static const char *const surnames[] = {
	"alvarez", "becker", "chen",     "dubois",   "eriksen", "fischer",  "garcia", "hansen",
	"ivanova", "jones",  "kowalski", "lindgren", "moreau",  "nakamura", "okafor", "patel",
	"quinn",   "rossi",  "silva",    "tanaka",   "ueda",    "virtanen", "weber",  "xu",
	"yilmaz",  "zhang",  "andersen", "bianchi",  "costa",   "davies"};
static const char *const models[] = {"esm4", "cm4", "spear", "icon", "cesm2"};
static const char *const scenarios[] = {"historical", "piControl", "ssp245",
					"ssp585",     "amip",      "abrupt4xCO2"};
static const char *const components[] = {
	"atmos", "ocean_monthly", "ocean_annual_z",   "land",     "ice", "atmos_level",
	"river", "atmos_daily",   "ocean_cobalt_btm", "land_dust"};
static const char *const molecules[] = {"lysozyme", "kras",      "spike",
					"insulin",  "aquaporin", "kinesin"};
static const char *const solids[] = {"MoS2", "TiO2", "graphene", "LiFePO4", "perovskite", "Fe3O4"};
static const char *const regions[] = {"europe", "alps", "baltic", "iberia", "sahel"};
static const char *const networks[] = {"resnet50", "unet", "bert", "graphcast", "vit"};

enum kind { CLIMATE, POSTPROCESS, WEATHER, MOLECULES, SOLIDS, LEARNING, SEQUENCES, SCRATCH, KINDS };
/* Of hundred jobs, so many are of each kind. */
static const unsigned shares[KINDS] = {8, 38, 6, 12, 10, 8, 12, 6};

struct user {
	char name[24];
	enum kind kinds[2];
};

struct job {
	int64_t no, submit, start, end, cpu, cores, energy;
	char id[24], name[96];
	const char *user;
	int exitcode; /* -1: none */
	bool running;
	unsigned hosts[HOSTS_MAX], host_count, processes;
	const char *host_form;
	char tags[TAGS_MAX][2][48];
	unsigned tag_count;
};

struct site {
	struct store *store;
	struct user *users;
	unsigned user_count, days;
	uint64_t jobs;
	int64_t now;
	struct bulk *job, *meta, *tag, *host, *word, *sum;
};

static enum kind any_kind(void)
{
	unsigned at = below(100), k = 0;

	while (k + 1 < KINDS && at >= shares[k])
		at -= shares[k++];
	return k;
}

static void make_users(struct site *s)
{
	s->users = xcalloc(s->user_count, sizeof(*s->users));
	for (unsigned i = 0; i < s->user_count; i++) {
		struct user *u = &s->users[i];
		unsigned round = i / (unsigned)ARRAY_SIZE(surnames);

		snprintf(u->name, sizeof(u->name), "%c%s", 'a' + (char)((i * 7 + round) % 26),
			 surnames[i % ARRAY_SIZE(surnames)]);
		if (round >= 26)
			snprintf(u->name, sizeof(u->name), "user%04u", i);
		u->kinds[0] = any_kind();
		u->kinds[1] = any_kind();
	}
}

/* ---- a job ---------------------------------------------------------------------------------- */

static void tag(struct job *j, const char *key, const char *value)
{
	if (j->tag_count == TAGS_MAX)
		return;
	snprintf(j->tags[j->tag_count][0], sizeof(j->tags[0][0]), "%s", key);
	snprintf(j->tags[j->tag_count++][1], sizeof(j->tags[0][1]), "%s", value);
}

/* Experiments come and go: each is active for some months. */
static void name_climate(struct job *j, double when, bool postprocess)
{
	unsigned epoch = (unsigned)(when * 12);
	const char *model = models[(epoch + below(2)) % ARRAY_SIZE(models)],
		   *scenario = scenarios[(epoch / 2 + below(2)) % ARRAY_SIZE(scenarios)],
		   *component = PICK(components);
	char experiment[40], year[16];

	snprintf(experiment, sizeof(experiment), "%s_%s_D%u", model, scenario, 1 + below(4));
	snprintf(year, sizeof(year), "%u0101", 1850 + below(165));
	if (postprocess)
		snprintf(j->name, sizeof(j->name), "%s_%s_%s", experiment, component, year);
	else
		snprintf(j->name, sizeof(j->name), "%s_run_%s", experiment, year);
	tag(j, "exp_name", experiment);
	tag(j, "exp_time", year);
	if (postprocess)
		tag(j, "exp_component", component);
	tag(j, "script_name", postprocess ? "postprocess" : "coupled_run");
}

static void name_job(struct job *j, enum kind kind, double when)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", 1 + below(40));
	switch (kind) {
	case CLIMATE:
	case POSTPROCESS:
		name_climate(j, when, kind == POSTPROCESS);
		break;
	case WEATHER:
		snprintf(j->name, sizeof(j->name), "wrf-%s-%04u%02u%02u", PICK(regions),
			 2024 + (unsigned)(when * 3), 1 + below(12), 1 + below(28));
		break;
	case MOLECULES:
		snprintf(j->name, sizeof(j->name), "gmx_md_%s_%uK_r%s", PICK(molecules),
			 280 + 10 * below(6), number);
		tag(j, "ensemble", number);
		break;
	case SOLIDS:
		snprintf(j->name, sizeof(j->name), "vasp relax %s step%s", PICK(solids), number);
		break;
	case LEARNING:
		snprintf(j->name, sizeof(j->name), "train_%s_run%s", PICK(networks), number);
		tag(j, "dataset", chance(0.5) ? "era5" : "imagenet");
		break;
	case SEQUENCES:
		snprintf(j->name, sizeof(j->name), "blast_chunk_%04u", below(3000));
		break;
	default:
		snprintf(j->name, sizeof(j->name), "%s", chance(0.5) ? "interactive" : "test.sh");
	}
	static const char *const projects[] = {"climate", "climate", "weather", "bio",
					       "matter",  "ai",      "bio",     "misc"};
	tag(j, "project", projects[kind]);
}

static void place_job(struct job *j, enum kind kind)
{
	bool gpus = kind == LEARNING;
	unsigned nodes = gpus ? GPU_NODES : NODES, first = below(nodes);

	j->host_count = 1;
	if (kind == CLIMATE)
		j->host_count = 4u << below(5);
	else if ((kind == WEATHER || kind == MOLECULES) && chance(0.4))
		j->host_count = 2 + below(7);
	j->host_form = gpus ? "gpu%02u" : "cn%04u";
	for (unsigned i = 0; i < j->host_count; i++)
		j->hosts[i] = (first + i) % nodes + 1;
	unsigned each = j->host_count > 1                          ? 64
			: kind == POSTPROCESS || kind == SEQUENCES ? 1u << below(4)
								   : 8u << below(4);
	j->cores = (int64_t)j->host_count * each;
	j->processes = kind == POSTPROCESS ? 200 + below(3000) : (unsigned)j->cores + below(60);
}

static void time_job(const struct site *s, struct job *j, enum kind kind, double when)
{
	static const unsigned minutes[KINDS] = {480, 25, 180, 600, 300, 900, 12, 20};
	double length = minutes[kind] * 60.0 * (0.2 + 1.6 * part());
	double efficiency = 0.55 + 0.44 * part();

	if (chance(0.01)) /* an outlier */
		length *= 6 + 6 * part();
	if (chance(0.06)) /* asked for a node and used a core */
		efficiency = 1.0 / (double)j->cores + 0.03 * part();
	/* fewer at weekends and by night */
	j->submit = s->now - (int64_t)((1 - when) * (double)s->days * (double)DAY);
	if (chance(0.5) && j->submit / DAY % 7 > 4)
		j->submit -= DAY;
	j->start = j->submit + (int64_t)(skewed(20000) * (double)SECOND) + below(1000000);
	j->end = j->start + (int64_t)(length * (double)SECOND);
	j->running = j->end > s->now;
	if (j->start > s->now)
		j->start = s->now - below(3600) * SECOND;
	if (j->running)
		j->end = s->now;
	double seconds = (double)(j->end - j->start) / (double)SECOND;
	j->cpu = (int64_t)(seconds * (double)j->cores * efficiency * (double)SECOND);
	j->energy = (int64_t)(seconds * (double)j->cores * (2.0 + 4 * efficiency) * 1000);
}

static void end_job(struct job *j, const struct user *u)
{
	static const int codes[] = {1, 1, 1, 2, 134, 137, 139, 143};
	/* some users have more bad luck */
	double fails = u->name[1] % 7 == 0 ? 0.25 : 0.07;

	j->exitcode = j->running || chance(0.01) ? -1 : chance(fails) ? PICK(codes) : 0;
}

static void make_job(const struct site *s, uint64_t i, struct job *j)
{
	const struct user *u = &s->users[skewed(s->user_count)];
	/* a site grows, so later times have more jobs */
	double at = ((double)i + part()) / (double)s->jobs,
	       when = 1 - (1 - at) * (1.3 - 0.3 * at) / 1.3;
	enum kind kind = chance(0.75) ? u->kinds[0] : u->kinds[1];

	*j = (struct job){.no = (int64_t)i + 1, .user = u->name};
	if (chance(0.12))
		snprintf(j->id, sizeof(j->id), "%llu_%u", (unsigned long long)(400000 + i),
			 below(100));
	else
		snprintf(j->id, sizeof(j->id), "%llu", (unsigned long long)(400000 + i));
	name_job(j, kind, when);
	place_job(j, kind);
	time_job(s, j, kind, when);
	end_job(j, u);
}

/* ---- rows ----------------------------------------------------------------------------------- */

static int put_job(struct site *s, const struct job *j)
{
	int64_t duration = j->end - j->start;

	return bulk_put(s->job, db_int(j->no), db_str(j->id), db_str(j->name), db_str(j->user),
			db_int(j->submit), db_int(j->start), db_int(j->end), db_int(duration),
			db_int(j->cpu), db_int_if(j->exitcode >= 0, j->exitcode),
			db_int(j->running ? 0 : j->processes), db_int(j->processes), db_int(0),
			db_int(0), db_int(20000), db_str(j->running ? STORE_FED : "papiex"),
			db_str("/archive/jobs"),
			db_int(j->running ? s->now + RUNS_ON : j->end + 60 * SECOND),
			db_int(j->processes), db_str("fir"), db_int(0), db_int(duration * j->cores),
			db_int_if(j->no % 5 != 0, j->energy)); /* some nodes do not measure it */
}

static int put_meta(struct site *s, const struct job *j)
{
	_cleanup_json_ struct json_writer w = JSON_WRITER_INIT;

	json_begin_object(&w, NULL);
	json_str(&w, "jobid", j->id);
	json_str(&w, "user", j->user);
	json_begin_object(&w, "request");
	json_i64(&w, "cores", j->cores);
	json_i64(&w, "nodes", j->host_count);
	json_end_object(&w);
	json_end_object(&w);
	return bulk_put(s->meta, db_int(j->no), db_bytes(w.out.buf, w.out.len));
}

static int put_rest(struct site *s, const struct job *j)
{
	char host[16];
	int r = job_words_put(s->word, j->no, j->id, j->name, j->start);

	for (unsigned i = 0; i < j->host_count && r == 0; i++) {
		snprintf(host, sizeof(host), j->host_form[0] == 'g' ? "gpu%02u" : "cn%04u",
			 j->hosts[i]);
		r = bulk_put(s->host, db_int(j->no), db_str(host),
			     db_int(j->processes / j->host_count), db_int(j->start));
	}
	for (unsigned i = 0; i < j->tag_count && r == 0; i++)
		r = bulk_put(s->tag, db_int(j->no), db_str(j->tags[i][0]), db_str(j->tags[i][1]),
			     db_int(j->start));
	if (r == 0)
		r = bulk_put(s->sum, db_int(j->no), db_str("rssmax"),
			     db_int((int64_t)j->processes * 90000), db_int(below(4000000)));
	if (r == 0)
		r = bulk_put(s->sum, db_int(j->no), db_str("write_bytes"),
			     db_int((int64_t)skewed(2000000000)), db_int(below(1000000000)));
	return r;
}

static int open_bulks(struct site *s)
{
	const struct {
		struct bulk **b;
		const char *table, *columns;
	} all[] = {
		{&s->job, "job",
		 "no,jobid,jobname,username,submit_us,start_us,end_us,duration_us,cpu_us,exitcode,"
		 "num_procs,num_threads,peak_procs,peak_threads,bytes,format,source,ingested_us,"
		 "processes,cluster,nth,core_us,energy_mj"},
		{&s->meta, "job_meta", "job,json"},
		{&s->tag, "job_tag", "job,key,value,start_us"},
		{&s->host, "job_host", "job,host,num_procs,start_us"},
		{&s->word, "job_word", JOB_WORD_COLUMNS},
		{&s->sum, "job_sum", "job,metric,sum,max"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (!(*all[i].b =
			      s->store->engine->bulk_open(s->store, all[i].table, all[i].columns)))
			return -EIO;
	return 0;
}

static int close_bulks(struct site *s, int r)
{
	struct bulk **all[] = {&s->job, &s->meta, &s->tag, &s->host, &s->word, &s->sum};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		r = *all[i] ? bulk_end(*all[i], r) : r;
		*all[i] = NULL;
	}
	return r;
}

static int write_some(struct site *s, uint64_t from, uint64_t to, int64_t base)
{
	struct job j;
	int r = store_begin(s->store);

	if (r == 0)
		r = open_bulks(s);
	for (uint64_t i = from; i < to && r == 0; i++) {
		make_job(s, i, &j);
		j.no += base;
		r = put_job(s, &j);
		if (r == 0)
			r = put_meta(s, &j);
		if (r == 0)
			r = put_rest(s, &j);
	}
	r = close_bulks(s, r);
	if (r == 0)
		r = store_run(s->store, "UPDATE job_number SET last = $1",
			      db_int(base + (int64_t)to));
	return store_end(s->store, r);
}

static uint64_t argument(int argc, char **argv, int i, uint64_t otherwise)
{
	uint64_t v = otherwise;

	if (i < argc && (parse_u64(argv[i], &v) < 0 || !v)) {
		fprintf(stderr, "'%s' is not a number\n", argv[i]);
		exit(2);
	}
	return v;
}

static int fill(struct site *s)
{
	int64_t base = 0;
	int r = store_number(s->store, "SELECT last FROM job_number", &base);

	/* a store that is cut off is made again */
	if (r == 0 && !strcmp(s->store->engine->name, "SQLite"))
		r = store_exec(s->store, "PRAGMA synchronous=OFF; PRAGMA cache_size=-400000");
	for (uint64_t i = 0; i < s->jobs && r == 0; i += JOBS_AT_ONCE)
		r = write_some(s, i, i + JOBS_AT_ONCE < s->jobs ? i + JOBS_AT_ONCE : s->jobs, base);
	if (r == 0)
		r = store_settle(s->store, 60000);
	return r;
}

int main(int argc, char **argv)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	uint64_t begin = clock_boottime_ns();

	if (argc < 3) {
		fprintf(stderr, "usage: bench-site URL JOBS [USERS [DAYS [SEED]]]\n");
		return 2;
	}
	struct site s = {.jobs = argument(argc, argv, 2, 0),
			 .user_count = (unsigned)argument(argc, argv, 3, 200),
			 .days = (unsigned)argument(argc, argv, 4, 1000),
			 .now = clock_realtime_us()};
	seed_state = argument(argc, argv, 5, 42);
	make_users(&s);
	int r = store_open(&s.store, argv[1], STORE_WRITE, &why);
	if (r == 0 && (r = fill(&s)) < 0)
		strbuf_addstr(&why, store_error(s.store));
	if (r < 0)
		fprintf(stderr, "bench-site: %s\n", why.buf);
	store_close(s.store);
	free(s.users);
	double seconds = (double)(clock_boottime_ns() - begin) / 1e9;
	if (r == 0)
		printf("%llu %.1f %.0f\n", (unsigned long long)s.jobs, seconds,
		       (double)s.jobs / seconds);
	return r < 0;
}
