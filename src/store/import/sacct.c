/* Lines of sacct become jobs with their steps; see sacct.h. */
#include "store/import/sacct.h"

#include <errno.h>
#include <string.h>

#include "core/text/text.h"
#include "store/query.h"

/* What a column means besides its value. */
enum column_role {
	ROLE_VALUE,
	ROLE_ID,
	ROLE_RAW_ID,
	ROLE_USER,
	ROLE_CLUSTER,
	ROLE_START,
	ROLE_END
};

/* Where a value counts: a job's own line, or those of its steps, of which the job gets the largest.
 */
#define OF_JOB 1u
#define OF_STEP 2u
#define LARGEST 4u
#define FREE_TEXT 8u /* people write it: it may contain "|" */

static const struct column {
	const char *name, *key;
	enum sacct_type type;
	unsigned flags;
	enum column_role role;
} columns[] = {
	{"JobID", "jobid", SACCT_TEXT, OF_JOB, ROLE_ID},
	{"JobIDRaw", NULL, SACCT_TEXT, 0, ROLE_RAW_ID},
	{"JobName", "jobname", SACCT_TEXT, OF_JOB | OF_STEP | FREE_TEXT, ROLE_VALUE},
	{"User", "user", SACCT_TEXT, OF_JOB, ROLE_USER},
	{"Group", "group", SACCT_TEXT, OF_JOB, ROLE_VALUE},
	{"Cluster", "cluster", SACCT_TEXT, OF_JOB, ROLE_CLUSTER},
	{"Account", "account", SACCT_TEXT, OF_JOB, ROLE_VALUE},
	{"WCKey", "wckey", SACCT_TEXT, OF_JOB | FREE_TEXT, ROLE_VALUE},
	{"Partition", "partition", SACCT_TEXT, OF_JOB, ROLE_VALUE},
	{"QOS", "qos", SACCT_TEXT, OF_JOB, ROLE_VALUE},
	{"QOSREQ", "qos_requested", SACCT_TEXT, OF_JOB, ROLE_VALUE},
	{"Reservation", "reservation", SACCT_TEXT, OF_JOB, ROLE_VALUE},
	{"Constraints", "constraints", SACCT_TEXT, OF_JOB, ROLE_VALUE},
	{"Comment", "comment", SACCT_TEXT, OF_JOB | FREE_TEXT, ROLE_VALUE},
	{"WorkDir", "workdir", SACCT_TEXT, OF_JOB | FREE_TEXT, ROLE_VALUE},
	{"SubmitLine", "submit_line", SACCT_COMMAND, OF_JOB | FREE_TEXT, ROLE_VALUE},
	{"Priority", "priority", SACCT_COUNT, OF_JOB, ROLE_VALUE},
	{"Restarts", "restarts", SACCT_COUNT, OF_JOB, ROLE_VALUE},
	{"State", "state", SACCT_STATE, OF_JOB | OF_STEP, ROLE_VALUE},
	{"Reason", "reason", SACCT_TEXT, OF_JOB, ROLE_VALUE},
	{"ExitCode", "exit_code", SACCT_EXIT, OF_JOB | OF_STEP, ROLE_VALUE},
	{"DerivedExitCode", "derived_exit_code", SACCT_EXIT, OF_JOB, ROLE_VALUE},
	{"Submit", "submit", SACCT_TIME, OF_JOB, ROLE_VALUE},
	{"Eligible", "eligible", SACCT_TIME, OF_JOB, ROLE_VALUE},
	{"Start", "start", SACCT_TIME, OF_JOB | OF_STEP, ROLE_START},
	{"End", "end", SACCT_TIME, OF_JOB | OF_STEP, ROLE_END},
	{"Elapsed", "elapsed", SACCT_DURATION, OF_JOB | OF_STEP, ROLE_VALUE},
	{"ElapsedRaw", "elapsed", SACCT_SECONDS, OF_JOB | OF_STEP, ROLE_VALUE},
	{"Timelimit", "timelimit", SACCT_DURATION, OF_JOB, ROLE_VALUE},
	{"TimelimitRaw", "timelimit", SACCT_MINUTES, OF_JOB, ROLE_VALUE},
	{"Suspended", "suspended", SACCT_DURATION, OF_JOB, ROLE_VALUE},
	{"Planned", "planned", SACCT_DURATION, OF_JOB, ROLE_VALUE},
	{"Reserved", "planned", SACCT_DURATION, OF_JOB, ROLE_VALUE}, /* its name before 21.08 */
	{"ReqMem", "req_mem", SACCT_SIZE, OF_JOB, ROLE_VALUE},
	{"ReqCPUS", "req_cpus", SACCT_COUNT, OF_JOB, ROLE_VALUE},
	{"ReqNodes", "req_nodes", SACCT_COUNT, OF_JOB, ROLE_VALUE},
	{"ReqTRES", "req_tres", SACCT_TRES, OF_JOB, ROLE_VALUE},
	{"AllocCPUS", "alloc_cpus", SACCT_COUNT, OF_JOB | OF_STEP, ROLE_VALUE},
	{"NCPUS", "alloc_cpus", SACCT_COUNT, OF_JOB | OF_STEP, ROLE_VALUE},
	{"AllocNodes", "alloc_nodes", SACCT_COUNT, OF_JOB | OF_STEP, ROLE_VALUE},
	{"NNodes", "alloc_nodes", SACCT_COUNT, OF_JOB | OF_STEP, ROLE_VALUE},
	{"AllocTRES", "alloc_tres", SACCT_TRES, OF_JOB, ROLE_VALUE},
	{"NodeList", "nodelist", SACCT_TEXT, OF_JOB, ROLE_VALUE},
	{"NTasks", "ntasks", SACCT_COUNT, OF_STEP | LARGEST, ROLE_VALUE},
	{"CPUTime", "allocated_cpu_time", SACCT_DURATION, OF_JOB, ROLE_VALUE},
	{"CPUTimeRAW", "allocated_cpu_time", SACCT_SECONDS, OF_JOB, ROLE_VALUE},
	{"TotalCPU", "total_cpu", SACCT_DURATION, OF_JOB | OF_STEP, ROLE_VALUE},
	{"UserCPU", "user_cpu", SACCT_DURATION, OF_JOB | OF_STEP, ROLE_VALUE},
	{"SystemCPU", "system_cpu", SACCT_DURATION, OF_JOB | OF_STEP, ROLE_VALUE},
	{"MaxRSS", "max_rss", SACCT_SIZE, OF_JOB | OF_STEP | LARGEST, ROLE_VALUE},
	{"MaxVMSize", "max_vmsize", SACCT_SIZE, OF_JOB | OF_STEP | LARGEST, ROLE_VALUE},
	{"MaxDiskRead", "max_disk_read", SACCT_SIZE, OF_JOB | OF_STEP | LARGEST, ROLE_VALUE},
	{"MaxDiskWrite", "max_disk_write", SACCT_SIZE, OF_JOB | OF_STEP | LARGEST, ROLE_VALUE},
	{"ConsumedEnergy", "consumed_energy", SACCT_ENERGY, OF_JOB | OF_STEP | LARGEST, ROLE_VALUE},
	{"ConsumedEnergyRaw", "consumed_energy", SACCT_ENERGY, OF_JOB | OF_STEP | LARGEST,
	 ROLE_VALUE},
};

/* Columns that are skipped, and cannot contain "|". Any other column may. */
static const char *const skipped[] = {
	"AllocGRES",
	"AssocID",
	"AveCPU",
	"AveCPUFreq",
	"AveDiskRead",
	"AveDiskWrite",
	"AvePages",
	"AveRSS",
	"AveVMSize",
	"BlockID",
	"DBIndex",
	"Flags",
	"GID",
	"Layout",
	"MaxDiskReadNode",
	"MaxDiskReadTask",
	"MaxDiskWriteNode",
	"MaxDiskWriteTask",
	"MaxPages",
	"MaxPagesNode",
	"MaxPagesTask",
	"MaxRSSNode",
	"MaxRSSTask",
	"MaxVMSizeNode",
	"MaxVMSizeTask",
	"MinCPU",
	"MinCPUNode",
	"MinCPUTask",
	"ReqCPUFreq",
	"ReqCPUFreqGov",
	"ReqCPUFreqMax",
	"ReqCPUFreqMin",
	"ReqGRES",
	"ReservationId",
	"ResvCPU",
	"ResvCPURAW",
	"UID",
};

static void release_record(struct sacct_record *r)
{
	free(r->id);
	free(r->task);
	free(r->user);
	free(r->cluster);
	value_free(r->facts);
	value_free(r->steps);
	*r = (struct sacct_record){0};
}

void sacct_init(struct sacct *s,
		int (*job)(void *user, const struct sacct_record *r, struct strbuf *why),
		void *user)
{
	*s = (struct sacct){.job = job, .user = user, .wide = -1};
}

void sacct_release(struct sacct *s)
{
	release_record(&s->record);
	s->open = false;
}

/* ---- fields --------------------------------------------------------------------------------- */

struct fields {
	char *text; /* with NUL in place of each separator */
	char *v[SACCT_COLUMNS_MAX];
	size_t count;
};

static void fields_release(struct fields *f)
{
	free(f->text);
}

static int split(struct fields *f, const char *line, size_t n, struct strbuf *why)
{
	f->text = xstrndup(line, n);
	for (char *p = f->text;; p++) {
		if (f->count == SACCT_COLUMNS_MAX)
			return strbuf_fail(why, -EINVAL, "more than %d fields", SACCT_COLUMNS_MAX);
		f->v[f->count++] = p;
		p += strcspn(p, "|");
		if (!*p)
			return 0;
		*p = 0;
	}
}

/* A "|" inside the only free text is not a separator: joins its parts. */
static void join_wide(struct fields *f, size_t wide, size_t want)
{
	size_t extra = f->count - want;

	for (size_t i = 1; i <= extra; i++) {
		char *part = f->v[wide + i];

		*(part - 1) = '|';
	}
	for (size_t i = wide + 1; i < want; i++)
		f->v[i] = f->v[i + extra];
	f->count = want;
}

/* ---- header --------------------------------------------------------------------------------- */

static int find_column(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		if (!strcasecmp(columns[i].name, name))
			return (int)i;
	return -1;
}

/* A line that names the column of the job id, also where outputs were concatenated. */
static bool is_header(const struct fields *f)
{
	for (size_t i = 0; i < f->count; i++) {
		int c = find_column(f->v[i]);

		if (c >= 0 && (columns[c].role == ROLE_ID || columns[c].role == ROLE_RAW_ID))
			return true;
	}
	return false;
}

static bool may_be_wide(const char *name, int column)
{
	if (column >= 0)
		return columns[column].flags & FREE_TEXT;
	for (size_t i = 0; i < ARRAY_SIZE(skipped); i++)
		if (!strcasecmp(skipped[i], name))
			return false;
	/* the last name is empty with --parsable */
	return *name && strncasecmp(name, "TRESUsage", 9) != 0;
}

static int take_header(struct sacct *s, const struct fields *f, struct strbuf *why)
{
	size_t free_texts = 0;

	/* in Slurm 22.05 the JSON of sacct has no CPU times, and is another one in each release */
	if (f->text[strspn(f->text, " \t")] == '{')
		return strbuf_fail(why, -EINVAL,
				   "this is JSON; let sacct print --parsable2 instead of --json");
	if (!is_header(f) || f->count < 2)
		return strbuf_fail(
			why, -EINVAL,
			"this is not a header of `sacct --parsable2` with the column JobID "
			"or JobIDRaw");
	s->column_count = f->count;
	s->wide = -1;
	for (size_t i = 0; i < f->count; i++) {
		s->columns[i] = find_column(f->v[i]);
		if (!may_be_wide(f->v[i], s->columns[i]))
			continue;
		s->wide = (ssize_t)i;
		free_texts++;
	}
	if (free_texts > 1)
		s->wide = -1;
	return 0;
}

/* ---- records -------------------------------------------------------------------------------- */

static int emit(struct sacct *s, struct strbuf *why)
{
	if (!s->open)
		return 0;
	if (s->record.steps->list.count)
		value_set(s->record.facts, "steps", value_ref(s->record.steps));
	if (s->record.whole || s->record.step_count)
		value_set(s->record.facts, "step_count", value_int((int64_t)s->record.step_count));
	int r = s->job(s->user, &s->record, why);
	release_record(&s->record);
	s->open = false;
	return r;
}

/* "123", "123_4", "123_[5-9%2]", "123+1", each maybe with ".batch" or ".0" behind it */
static bool id_is_valid(const char *id, size_t n)
{
	size_t digits = strspn(id, "0123456789");

	if (!digits || digits > 19 || n > 1024)
		return false;
	for (size_t i = digits; i < n; i++)
		if (!strchr("0123456789_+[]-,%:.", id[i]))
			return false;
	return true;
}

/* The id of a line and its step; NULL: the job itself. */
struct line_id {
	const char *raw, *shown, *step;
	size_t raw_n, shown_n;
};

static int find_id(const struct sacct *s, const struct fields *f, struct line_id *id,
		   struct strbuf *why)
{
	*id = (struct line_id){0};
	for (size_t i = 0; i < f->count; i++) {
		enum column_role role =
			s->columns[i] < 0 ? ROLE_VALUE : columns[s->columns[i]].role;
		size_t n = strcspn(f->v[i], ".");

		if (role == ROLE_ID) {
			id->shown = f->v[i];
			id->shown_n = n;
		} else if (role == ROLE_RAW_ID) {
			id->raw = f->v[i];
			id->raw_n = n;
		} else {
			continue;
		}
		if (!id_is_valid(f->v[i], n)) {
			strbuf_addf(why, "%s: '%.64s' is not a job id", columns[s->columns[i]].name,
				    f->v[i]);
			return -EINVAL;
		}
		if (f->v[i][n])
			id->step = f->v[i] + n + 1;
	}
	if (!id->raw) {
		id->raw = id->shown;
		id->raw_n = id->shown_n;
	}
	if (!id->raw) {
		strbuf_addstr(why, "there is no job id");
		return -EINVAL;
	}
	return 0;
}

static bool is_current(const struct sacct *s, const struct line_id *id)
{
	return s->open && strlen(s->record.id) == id->raw_n &&
	       !strncmp(s->record.id, id->raw, id->raw_n);
}

static void begin(struct sacct *s, const struct line_id *id)
{
	s->record = (struct sacct_record){.id = xstrndup(id->raw, id->raw_n),
					  .facts = value_new(VALUE_DICT),
					  .steps = value_new(VALUE_LIST)};
	if (id->shown && memchr(id->shown, '_', id->shown_n))
		s->record.task = xstrndup(id->shown, id->shown_n);
	s->open = true;
	s->jobs++;
}

static void keep_text(char **to, const struct value *facts, const char *key)
{
	const char *text = value_get_str(facts, key);

	free(*to);
	*to = text ? xstrdup(text) : NULL;
}

static void keep_time(const struct value *facts, const char *key, const char *text, int64_t *ret,
		      bool *has)
{
	/* it was just parsed: only the number is needed */
	*has = value_get(facts, key) && parse_time_us(text, 0, ret) == 0;
}

/* What finding the stored job needs. */
static void keep_role(struct sacct_record *r, const struct column *c, const char *text)
{
	if (c->role == ROLE_USER)
		keep_text(&r->user, r->facts, c->key);
	else if (c->role == ROLE_CLUSTER)
		keep_text(&r->cluster, r->facts, c->key);
	else if (c->role == ROLE_START)
		keep_time(r->facts, c->key, text, &r->start_us, &r->has_start);
	else if (c->role == ROLE_END)
		keep_time(r->facts, c->key, text, &r->end_us, &r->has_end);
}

static double real_of(const struct value *v)
{
	return !v                      ? -1
	       : v->kind == VALUE_INT  ? (double)v->integer
	       : v->kind == VALUE_REAL ? v->real
				       : -1;
}

/* The job gets the largest value of its steps. */
static void raise(struct value *facts, const struct value *step, const char *key)
{
	struct value *v = value_get(step, key);

	if (v && real_of(v) > real_of(value_get(facts, key)))
		value_set(facts, key, value_ref(v));
}

static int take_line(struct sacct *s, const struct fields *f, const struct line_id *id,
		     struct strbuf *why)
{
	_cleanup_value_ struct value *step = id->step ? value_new(VALUE_DICT) : NULL;
	struct value *to = step ? step : s->record.facts;
	unsigned of = step ? OF_STEP : OF_JOB;

	if (step)
		(void)sacct_take_value(step, "step", SACCT_TEXT, id->step, why);
	for (size_t i = 0; i < f->count; i++) {
		const struct column *c = s->columns[i] < 0 ? NULL : &columns[s->columns[i]];
		_cleanup_strbuf_ struct strbuf reason = STRBUF_INIT;

		if (!c || !c->key || !(c->flags & of))
			continue;
		if (c->role == ROLE_ID)
			value_set(to, c->key, value_strn(id->shown, id->shown_n));
		else if (sacct_take_value(to, c->key, c->type, f->v[i], &reason) < 0)
			return strbuf_fail(why, -EINVAL, "%s: %s", c->name, reason.buf);
		if (!step)
			keep_role(&s->record, c, f->v[i]);
		else if (c->flags & LARGEST)
			raise(s->record.facts, step, c->key);
	}
	if (!step)
		return 0;
	s->steps++;
	if (s->record.step_count++ < SACCT_STEPS_MAX)
		value_append(s->record.steps, value_ref(step));
	return 0;
}

/* ---- lines ---------------------------------------------------------------------------------- */

int sacct_line(struct sacct *s, const char *line, size_t n, struct strbuf *why)
{
	_cleanup_(fields_release) struct fields f = {0};
	struct line_id id;

	s->line++;
	while (n && (line[n - 1] == '\r' || line[n - 1] == '\n'))
		n--;
	if (!n)
		return 0;
	if (n > SACCT_LINE_MAX)
		return strbuf_fail(why, -EINVAL, "the line is longer than 1 MiB");
	if (memchr(line, 0, n))
		return strbuf_fail(why, -EINVAL, "the line contains a NUL byte");
	int r = split(&f, line, n, why);
	if (r < 0)
		return r;
	if (!s->column_count || is_header(&f)) {
		r = emit(s, why);
		return r < 0 ? r : take_header(s, &f, why);
	}
	if (f.count > s->column_count && s->wide >= 0)
		join_wide(&f, (size_t)s->wide, s->column_count);
	if (f.count != s->column_count)
		return strbuf_fail(
			why, -EINVAL,
			"%zu fields, but the header has %zu; if a name or comment contains "
			"'|' or a line break, leave its column out of --format",
			f.count, s->column_count);
	r = find_id(s, &f, &id, why);
	if (r < 0)
		return r;
	/* a second line of the job itself is another run of it (--duplicates) */
	if (!is_current(s, &id) || (!id.step && s->record.whole)) {
		r = emit(s, why);
		if (r < 0)
			return r;
		begin(s, &id);
	}
	s->record.whole |= !id.step;
	return take_line(s, &f, &id, why);
}

int sacct_end(struct sacct *s, struct strbuf *why)
{
	if (!s->column_count)
		return strbuf_fail(why, -ENODATA, "there is no header of `sacct --parsable2`");
	return emit(s, why);
}
