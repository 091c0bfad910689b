/* What a batch job asked for; see request.h. */
#include "jobs/request.h"

#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/strbuf.h"
#include "core/system/spawn.h"
#include "core/util.h"
#include "jobs/host_list.h"

#define COUNT_MAX ((int64_t)1 << 40)
#define DIGITS_MAX ((int64_t)1 << 32)
#define ANSWER_MAX 65536
#define ANSWER_MS 1000
#define RAN_BEFORE "ran_before"
#define RAN_BEFORE_MAX (400 * 86400)

const char *const request_names[REQUEST_ITEMS] = {
	[REQUEST_CORES] = "cores",   [REQUEST_TASKS] = "tasks", [REQUEST_NODES] = "nodes",
	[REQUEST_MEMORY] = "memory", [REQUEST_TIME] = "time",   [REQUEST_GPUS] = "gpus",
};

static void take(struct job_request *r, enum request_item item, int64_t v)
{
	if (r->item[item] < 0 && v > 0)
		r->item[item] = v;
}

static int64_t times(int64_t a, int64_t b)
{
	int64_t v;

	return a > 0 && b > 0 && !__builtin_mul_overflow(a, b, &v) ? v : -1;
}

/* ---- environment ---------------------------------------------------------------------------- */

/* "16(x4),8" is 72, the most of a host is 16, that of the host with index 4 is 8; -1: another
 * format. */
static int64_t cpus_per_node(const char *s, int64_t *ret_most, int64_t index, int64_t *ret_one)
{
	int64_t sum = 0;

	*ret_most = 0;
	*ret_one = -1;
	while (*s) {
		char *end;
		long n = strtol(s, &end, 10), hosts = 1;

		if (end == s || n <= 0 || n > 1 << 20)
			return -1;
		if (*end == '(' && end[1] == 'x')
			hosts = strtol(end + 2, &end, 10);
		if (*end == ')')
			end++;
		if ((*end && *end != ',') || hosts <= 0 || hosts > 1 << 20)
			return -1;
		if (index >= 0 && index < hosts)
			*ret_one = n;
		index -= hosts;
		sum += (int64_t)n * hosts;
		*ret_most = n > *ret_most ? n : *ret_most;
		s = *end ? end + 1 : end;
	}
	return sum > 0 ? sum : -1;
}

static int64_t number(request_lookup get, const void *user, const char *name)
{
	const char *text = get(user, name);
	int64_t v;

	return text && parse_i64(text, &v) == 0 && v > 0 && v < COUNT_MAX ? v : -1;
}

/* Variables that are the item itself. */
static const struct {
	enum request_item item;
	const char *name;
} variables[] = {
	{REQUEST_CORES, "PBS_NP"},
	{REQUEST_CORES, "NSLOTS"},
	{REQUEST_CORES, "LSB_DJOB_NUMPROC"},
	{REQUEST_CORES, "OAR_NCPUS"},
	{REQUEST_TASKS, "SLURM_NTASKS"},
	{REQUEST_TASKS, "FLUX_JOB_SIZE"},
	{REQUEST_NODES, "SLURM_JOB_NUM_NODES"},
	{REQUEST_NODES, "PBS_NUM_NODES"},
	{REQUEST_NODES, "FLUX_JOB_NNODES"},
	{REQUEST_TIME, "PBS_WALLTIME"},
	{REQUEST_TIME, "OAR_JOB_WALLTIME_SECONDS"},
};

/* "0,1" is 2; "", "-1" and other texts are none. */
static int64_t visible_devices(const char *text)
{
	int64_t count = 1;

	if (!text || *text < '0' || (*text > '9' && !str_prefix(text, "GPU-")))
		return -1;
	for (; *text; text++)
		count += *text == ',';
	return count;
}

static void take_slurm(request_lookup get, const void *user, struct job_request *r)
{
	const char *each = get(user, "SLURM_JOB_CPUS_PER_NODE"), *gpus = get(user, "SLURM_GPUS");
	int64_t nodes = number(get, user, "SLURM_JOB_NUM_NODES"), most = 0, one,
		cores = each ? cpus_per_node(each, &most, -1, &one) : -1,
		end = number(get, user, "SLURM_JOB_END_TIME"),
		start = number(get, user, "SLURM_JOB_START_TIME"), mib;

	nodes = nodes > 0 ? nodes : 1;
	if (cores < 0) {
		most = number(get, user, "SLURM_CPUS_ON_NODE");
		cores = times(most, nodes);
	}
	take(r, REQUEST_CORES, cores);
	mib = number(get, user, "SLURM_MEM_PER_NODE");
	if (mib < 0)
		mib = times(number(get, user, "SLURM_MEM_PER_CPU"), most);
	take(r, REQUEST_MEMORY, times(mib, 1 << 20));
	if (start > 0 && end > start)
		take(r, REQUEST_TIME, end - start);
	/* "2" or "a100:2" */
	const char *colon = gpus ? strrchr(gpus, ':') : NULL;
	int64_t count;
	if (gpus && !strchr(gpus, ',') && parse_i64(colon ? colon + 1 : gpus, &count) == 0)
		take(r, REQUEST_GPUS, count);
	take(r, REQUEST_GPUS, times(number(get, user, "SLURM_GPUS_ON_NODE"), nodes));
}

void request_from_environment(request_lookup get, const void *user, struct job_request *r)
{
	take_slurm(get, user, r);
	for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
		take(r, variables[i].item, number(get, user, variables[i].name));
	int64_t nodes = r->item[REQUEST_NODES] > 0 ? r->item[REQUEST_NODES] : 1;
	take(r, REQUEST_GPUS, times(visible_devices(get(user, "CUDA_VISIBLE_DEVICES")), nodes));
	take(r, REQUEST_GPUS, times(visible_devices(get(user, "ROCR_VISIBLE_DEVICES")), nodes));
}

int64_t request_host_cores(request_lookup get, const void *user, const char *host)
{
	const char *each = get(user, "SLURM_JOB_CPUS_PER_NODE"),
		   *list = get(user, "SLURM_JOB_NODELIST");
	_cleanup_host_list_ struct host_list hosts = {0};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	int64_t most, one = -1;

	if (!each || !list || host_list_parse(&hosts, list, &why) < 0)
		return -1;
	ssize_t index = host_list_find(&hosts, host);
	return index >= 0 && cpus_per_node(each, &most, index, &one) > 0 ? one : -1;
}

/* ---- answers of batch systems --------------------------------------------------------------- */

/* Digits at *p, which is moved behind them; -1: none. */
static int64_t digits(const char **p)
{
	int64_t v = 0;

	if (**p < '0' || **p > '9')
		return -1;
	for (; **p >= '0' && **p <= '9'; (*p)++)
		v = v < DIGITS_MAX ? v * 10 + (**p - '0') : DIGITS_MAX;
	return v;
}

static bool ends_word(char c)
{
	return !c || c == ' ' || c == '\n' || c == ',' || c == '\r';
}

/* "2-01:00:00", "01:00:00", "30:00"; -1: no limit, or something else. */
static int64_t seconds(const char *p)
{
	int64_t days = 0, sum = 0, part = digits(&p);

	if (part >= 0 && *p == '-') {
		days = part;
		p++;
		part = digits(&p);
	}
	for (int i = 0; part >= 0 && i < 3; i++) {
		sum = sum * 60 + part;
		if (ends_word(*p))
			return sum + days * 86400;
		if (*p != ':')
			return -1;
		p++;
		part = digits(&p);
	}
	return -1;
}

/* "8G", "4gb", "1500M", "0.50G" in bytes, a bare number in units of bare; -1: something else. */
static int64_t bytes(const char *p, int64_t bare)
{
	static const char units[] = "bkmgtp";
	char *end;
	double v = *p >= '0' && *p <= '9' ? strtod(p, &end) : -1;

	if (v < 0)
		return -1;
	const char *unit = *end ? strchr(units, *end | 0x20) : NULL;
	double scale = (double)bare;
	if (unit) {
		scale = (double)((int64_t)1 << 10 * (unit - units));
		end++;
		if (*unit != 'b' && (*end | 0x20) == 'b')
			end++;
	}
	return ends_word(*end) && v * scale < (double)((int64_t)1 << 60) ? (int64_t)(v * scale)
									 : -1;
}

/* The text behind a word in a line, up to its end; NULL: it is not there. */
static const char *behind(const char *line, const char *end, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = line; p + n <= end; p++)
		if ((p == line || p[-1] == ' ' || p[-1] == ',' || p[-1] == '=') &&
		    !memcmp(p, word, n))
			return p + n;
	return NULL;
}

static int64_t count_behind(const char *line, const char *end, const char *word)
{
	const char *p = behind(line, end, word);

	return p ? digits(&p) : -1;
}

/* What is only known with the others. */
struct answer {
	int64_t memory_per_core, memory;
};

/* "cpu=4,mem=8G,node=1,gres/gpu=2" */
static void take_tres(const char *line, const char *end, struct job_request *r, struct answer *a)
{
	const char *mem = behind(line, end, "mem=");

	take(r, REQUEST_CORES, count_behind(line, end, "cpu="));
	take(r, REQUEST_NODES, count_behind(line, end, "node="));
	take(r, REQUEST_GPUS, count_behind(line, end, "gres/gpu="));
	if (mem && a->memory < 0)
		a->memory = bytes(mem, 1 << 20);
}

/*
 * A name or a path in it is chosen by the user and may look like an entry: an entry counts only in
 * the line that begins as scontrol begins it.
 */
static void take_scontrol_line(const char *line, const char *end, struct job_request *r,
			       struct answer *a)
{
	const char *p;

	if (str_prefix(line, "RunTime=")) {
		p = behind(line, end, "TimeLimit=");
		take(r, REQUEST_TIME, p ? seconds(p) : -1);
		if (r->ran_before < 0)
			r->ran_before = seconds(line + strlen("RunTime="));
	} else if (str_prefix(line, "NumNodes=")) {
		take(r, REQUEST_NODES, count_behind(line, end, "NumNodes="));
		take(r, REQUEST_CORES, count_behind(line, end, "NumCPUs="));
		take(r, REQUEST_TASKS, count_behind(line, end, "NumTasks="));
	} else if (str_prefix(line, "MinCPUsNode=")) {
		p = behind(line, end, "MinMemoryNode=");
		take(r, REQUEST_MEMORY, p ? bytes(p, 1 << 20) : -1);
		p = behind(line, end, "MinMemoryCPU=");
		a->memory_per_core = p ? bytes(p, 1 << 20) : -1;
	} else if (str_prefix(line, "TRES=") || str_prefix(line, "ReqTRES="))
		take_tres(line, end, r, a);
}

/* Lines of a text, without blanks in front. */
static bool next_line(const char **text, const char **ret_line, const char **ret_end)
{
	if (!**text)
		return false;
	*ret_line = *text + strspn(*text, " \t");
	*ret_end = *ret_line + strcspn(*ret_line, "\n");
	*text = **ret_end ? *ret_end + 1 : *ret_end;
	return true;
}

void request_from_scontrol(const char *text, struct job_request *r)
{
	struct answer a = {-1, -1};
	const char *line, *end;

	while (next_line(&text, &line, &end))
		take_scontrol_line(line, end, r, &a);
	int64_t nodes = r->item[REQUEST_NODES] > 0 ? r->item[REQUEST_NODES] : 1,
		cores = r->item[REQUEST_CORES];
	if (cores > 0)
		take(r, REQUEST_MEMORY, times(a.memory_per_core, (cores + nodes - 1) / nodes));
	take(r, REQUEST_MEMORY, a.memory > 0 ? a.memory / nodes : -1);
}

void request_from_qstat(const char *text, struct job_request *r)
{
	const char *line, *end, *p;
	int64_t memory = -1;

	while (next_line(&text, &line, &end)) {
		if (str_prefix(line, "resources_used.walltime = ") && r->ran_before < 0)
			r->ran_before = seconds(line + strlen("resources_used.walltime = "));
		if (!str_prefix(line, "Resource_List."))
			continue;
		const char *name = line + strlen("Resource_List.");
		p = behind(line, end, "= ");
		if (!p)
			continue;
		if (str_prefix(name, "mem "))
			memory = bytes(p, 1);
		else if (str_prefix(name, "walltime "))
			take(r, REQUEST_TIME, seconds(p));
		else if (str_prefix(name, "ncpus "))
			take(r, REQUEST_CORES, digits(&p));
		else if (str_prefix(name, "ngpus "))
			take(r, REQUEST_GPUS, digits(&p));
		else if (str_prefix(name, "nodect "))
			take(r, REQUEST_NODES, digits(&p));
	}
	int64_t nodes = r->item[REQUEST_NODES] > 0 ? r->item[REQUEST_NODES] : 1;
	take(r, REQUEST_MEMORY, memory > 0 ? memory / nodes : -1);
}

/* ---- asking --------------------------------------------------------------------------------- */

/* Without a configuration, Slurm's commands look for servers by name, which can take long. */
static bool is_configured(void)
{
	static const char *const files[] = {"/etc/slurm/slurm.conf", "/etc/slurm-llnl/slurm.conf",
					    "/run/slurm/conf/slurm.conf"};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (access(files[i], R_OK) == 0)
			return true;
	return env_lookup("SLURM_CONF") != NULL;
}

static void ask(const char *program, const char *const *arguments, const char *id,
		void (*parse)(const char *text, struct job_request *r), struct job_request *r)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT, answer = STRBUF_INIT, conf = STRBUF_INIT;
	const char *argv[8] = {"env"}, *where = env_lookup("SLURM_CONF");
	size_t n = 1;
	pid_t stuck = 0;

	if (!spawn_find("", program, &path))
		return;
	/* spawn_run() gives its program a minimal environment */
	if (where) {
		strbuf_addf(&conf, "SLURM_CONF=%s", where);
		argv[n++] = conf.buf;
	}
	argv[n++] = path.buf;
	while (*arguments)
		argv[n++] = *arguments++;
	argv[n++] = id;
	struct spawn c = {
		.path = "/usr/bin/env", .argv = argv, .timeout_ms = ANSWER_MS, .max = ANSWER_MAX};
	if (spawn_run(&c, &stuck, &answer) == 0)
		parse(answer.buf, r);
}

static const char *own_variable(const void *user PL_UNUSED, const char *name)
{
	return env_lookup(name);
}

/* By the clock of this host. Variables may be those of an outer job that began long ago, or a
 * test's: a job does not run longer than its limit. */
static void take_ran_before(struct job_request *r)
{
	int64_t start = number(own_variable, NULL, "SLURM_JOB_START_TIME"),
		limit = r->item[REQUEST_TIME] > 0 ? r->item[REQUEST_TIME] : RAN_BEFORE_MAX,
		ran = clock_realtime_us() / 1000000 - start;

	if (start > 0 && ran >= 0)
		r->ran_before = ran;
	if (r->ran_before > limit)
		r->ran_before = -1;
}

struct value *request_metadata(bool asks)
{
	static const char *const show[] = {"show", "job", NULL}, *const full[] = {"-f", NULL};
	const char *id;
	const struct scheduler *s = scheduler_find(env_lookup, &id);
	struct job_request r = REQUEST_UNKNOWN;
	struct value *out = NULL;

	if (!s)
		return NULL;
	if (asks && job_id_valid(id) && !strcmp(s->name, "slurm") && is_configured())
		ask("scontrol", show, id, request_from_scontrol, &r);
	else if (asks && job_id_valid(id) && !strcmp(s->name, "pbs"))
		ask("qstat", full, id, request_from_qstat, &r);
	request_from_environment(own_variable, NULL, &r);
	take_ran_before(&r);
	for (size_t i = 0; i < REQUEST_ITEMS; i++) {
		if (r.item[i] < 0)
			continue;
		out = out ? out : value_new(VALUE_DICT);
		value_set(out, request_names[i], value_int(r.item[i]));
	}
	if (out && r.ran_before >= 0)
		value_set(out, RAN_BEFORE, value_int(r.ran_before));
	return out;
}

void request_from_metadata(const struct value *dict, struct job_request *ret)
{
	*ret = (struct job_request)REQUEST_UNKNOWN;
	for (size_t i = 0; dict && dict->kind == VALUE_DICT && i < REQUEST_ITEMS; i++) {
		const struct value *v = value_get(dict, request_names[i]);

		if (v && v->kind == VALUE_INT)
			take(ret, (enum request_item)i, v->integer);
	}
	const struct value *ran =
		dict && dict->kind == VALUE_DICT ? value_get(dict, RAN_BEFORE) : NULL;
	if (ran && ran->kind == VALUE_INT && ran->integer >= 0 && ran->integer <= RAN_BEFORE_MAX)
		ret->ran_before = ran->integer;
}
