/* The fingerprint of a job; see fingerprint.h. */
#include "store/analysis/fingerprint.h"

#include <ctype.h>

#include "core/text/text.h"
#include "store/job_metadata.h"

void fingerprint_release(struct fingerprint *f)
{
	free(f->command);
	free(f->tags);
	free(f->node);
	*f = (struct fingerprint){0};
}

/* ---- arguments ------------------------------------------------------------------------------ */

static const char *skip_digits(const char *s)
{
	while (isdigit((unsigned char)*s))
		s++;
	return s;
}

/* A number, also with a suffix of one or two letters. */
static bool is_number(const char *s)
{
	const char *begin = s += *s == '+' || *s == '-';

	s = skip_digits(s);
	if (*s == '.')
		s = skip_digits(s + 1);
	if (s == begin || (s == begin + 1 && *begin == '.'))
		return false;
	if ((*s == 'e' || *s == 'E') && isdigit((unsigned char)s[1 + (s[1] == '-' || s[1] == '+')]))
		s = skip_digits(s + 1 + (s[1] == '-' || s[1] == '+'));
	for (int i = 0; i < 2 && isalpha((unsigned char)*s); i++)
		s++;
	return !*s;
}

static void add_word_shape(struct strbuf *out, const char *word)
{
	if (is_number(word) || strpbrk(word, " \t\n")) {
		strbuf_addstr(out, word);
		return;
	}
	size_t n = strlen(word);
	while (n && word[n - 1] == '/')
		n--;
	const char *end = word + n, *s = end;
	while (s > word && s[-1] != '/')
		s--;
	for (; s < end; s++)
		if (!isdigit((unsigned char)*s))
			strbuf_addch(out, *s);
		else if (s + 1 == end || !isdigit((unsigned char)s[1]))
			strbuf_addch(out, '#');
}

void argument_shape(struct strbuf *out, const char *arg)
{
	const char *value = arg[0] == '-' && !is_number(arg) ? strchr(arg, '=') : NULL;

	if (value) {
		strbuf_add(out, arg, (size_t)(value + 1 - arg));
		add_word_shape(out, value + 1);
	} else if (arg[0] == '-') {
		strbuf_addstr(out, arg);
	} else {
		add_word_shape(out, arg);
	}
}

/* The arguments behind the first, each with a NUL behind it; single blanks separate those of other
 * tools. */
static void add_shapes(struct strbuf *out, const char *args, size_t size, char separator)
{
	for (size_t i = 0; i < size;) {
		const char *end = memchr(args + i, separator, size - i);
		const size_t n = end ? (size_t)(end - args) - i : size - i;
		_cleanup_free_ char *one = xstrndup(args + i, n);

		strbuf_addch(out, ' ');
		argument_shape(out, one);
		i += n + 1;
	}
}

/* ---- parts of it ---------------------------------------------------------------------------- */

/* Statements that are bound and stepped for each job. */
struct reader {
	struct stmt *format, *first, *earliest, *tags;
};

/* The first program of a job, which began it. Rows of our own records are in the order of time;
 * those of other tools need not be, so all of them are read. */
#define FIRST_PROGRAM(order)                                                                    \
	"SELECT e.bytes, v.bytes, a.bytes FROM (SELECT exename, argv, args FROM process "       \
	"WHERE id > $1 AND id < $2 ORDER BY " order " LIMIT 1) p "                              \
	"LEFT JOIN string e ON e.id = $1 + p.exename LEFT JOIN string v ON v.id = $1 + p.argv " \
	"LEFT JOIN string a ON a.id = $1 + p.args"

static void reader_open(struct reader *r, struct store *s)
{
	r->format =
		stmt_prepare(s, "SELECT count(*) FROM job WHERE no = $1 AND format = 'plimsoll'");
	r->first = stmt_prepare(s, FIRST_PROGRAM("id"));
	r->earliest = stmt_prepare(s, FIRST_PROGRAM("start, id"));
	r->tags = stmt_prepare(s, "SELECT key, value FROM job_tag WHERE job = $1 ORDER BY key");
}

static void reader_release(struct reader *r)
{
	stmt_finish_ptr(&r->format);
	stmt_finish_ptr(&r->first);
	stmt_finish_ptr(&r->earliest);
	stmt_finish_ptr(&r->tags);
}

/* Are its rows in the order of time? */
static int is_ordered(struct reader *rd, int64_t job)
{
	if (!rd->format)
		return -EIO;
	stmt_bind(rd->format, db_int(job));
	int r = stmt_step(rd->format);
	const bool ours = r == 1 && stmt_get_int(rd->format, 0) > 0;
	stmt_reset(rd->format);
	return r < 0 ? r : ours;
}

static int load_command(struct reader *rd, int64_t job, char **ret)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	const int ordered = is_ordered(rd, job);
	struct stmt *st = ordered ? rd->first : rd->earliest;
	size_t exe_size = 0, argv_size = 0, args_size = 0;

	if (!st || ordered < 0)
		return -EIO;
	stmt_bind(st, db_int(store_key(job, 0)), db_int(store_key(job + 1, 0)));
	int r = stmt_step(st);
	if (r < 0)
		return r;
	const char *exe = r ? stmt_get_text(st, 0, &exe_size) : NULL;
	const char *argv = r ? stmt_get_text(st, 1, &argv_size) : NULL;
	const char *args = r ? stmt_get_text(st, 2, &args_size) : NULL;
	if (exe) {
		text_add_printable(&text, exe, exe_size);
		const char *second = argv ? memchr(argv, 0, argv_size) : NULL;

		if (second)
			add_shapes(&text, second + 1, argv_size - (size_t)(second + 1 - argv), 0);
		else if (!argv && args)
			add_shapes(&text, args, args_size, ' ');
	}
	stmt_reset(st);
	*ret = exe ? strbuf_take(&text) : NULL;
	return exe ? 0 : -ENOENT;
}

/* Is a name one of those in a list with commas? */
static bool is_listed(const char *list, const char *name)
{
	const size_t n = strlen(name);

	while (list && *list) {
		const char *end = strchrnul(list, ',');

		if ((size_t)(end - list) == n && !memcmp(list, name, n))
			return true;
		list = *end ? end + 1 : NULL;
	}
	return false;
}

static int load_tags(struct stmt *st, int64_t job, const char *ignore, char **ret)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	int r;

	if (!st)
		return -EIO;
	stmt_bind(st, db_int(job));
	while ((r = stmt_step(st)) == 1)
		if (!is_listed(ignore, stmt_get_str(st, 0))) {
			strbuf_addf(&text, "%s%s:", text.len ? ";" : "", stmt_get_str(st, 0));
			strbuf_addstr(&text, stmt_get_str(st, 1));
		}
	if (r < 0)
		return r;
	*ret = strbuf_take(&text);
	return 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The types of hosts in metadata, each with how many there are. */
static void add_types(struct strbuf *out, const struct value *hosts)
{
	const size_t n = hosts && hosts->kind == VALUE_DICT ? value_pairs(hosts) : 0;
	char **types = xcalloc(n + 1, sizeof(*types));

	for (size_t i = 0; i < n; i++) {
		const struct value *h = value_at(hosts, i);
		const char *cpu = value_get_str(h, "cpu"), *machine = value_get_str(h, "machine");

		types[i] = xasprintf("%s, %lld CPUs",
				     cpu       ? cpu
				     : machine ? machine
					       : "unknown",
				     (long long)value_get_int(h, "cpus"));
	}
	if (n)
		qsort(types, n, sizeof(*types), by_text);
	for (size_t i = 0, j; i < n; i = j) {
		for (j = i + 1; j < n && !strcmp(types[i], types[j]); j++)
			;
		strbuf_addf(out, "%s%zu x %s", i ? "; " : "", j - i, types[i]);
	}
	for (size_t i = 0; i < n; i++)
		free(types[i]);
	free(types);
}

static int load_node(struct store *s, int64_t job, char **ret)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, why = STRBUF_INIT;
	_cleanup_value_ struct value *meta = NULL;
	int r = jobmeta_load(s, job, &meta, &why);

	if (r < 0 && !why.len)
		return r;
	/* metadata that cannot be read say nothing of the nodes */
	if (r > 0)
		add_types(&text, value_get(meta, "hosts"));
	*ret = strbuf_take(&text);
	return 0;
}

/* ---- the whole ------------------------------------------------------------------------------ */

int fingerprint_load(struct fingerprint *f, struct store *s, int64_t job, const char *ignore_tags)
{
	_cleanup_(reader_release) struct reader rd = {0};

	*f = (struct fingerprint){0};
	reader_open(&rd, s);
	int r = load_tags(rd.tags, job, ignore_tags, &f->tags);
	if (r >= 0)
		r = load_node(s, job, &f->node);
	if (r >= 0)
		r = load_command(&rd, job, &f->command);
	return r;
}

const char *fingerprint_difference(const struct fingerprint *a, const struct fingerprint *b)
{
	return !str_same(a->command, b->command) ? "command"
	       : !str_same(a->tags, b->tags)     ? "tags"
	       : !str_same(a->node, b->node)     ? "nodes"
						 : NULL;
}

void fingerprint_text(struct strbuf *out, const struct fingerprint *f)
{
	const char *command = f->command ? f->command : "(nothing recorded)";

	text_add_printable(out, command, strlen(command));
	if (f->tags && *f->tags) {
		strbuf_addstr(out, " [");
		text_add_printable(out, f->tags, strlen(f->tags));
		strbuf_addch(out, ']');
	}
	if (f->node && *f->node) {
		strbuf_addstr(out, " on ");
		text_add_printable(out, f->node, strlen(f->node));
	}
}

/* The cheap parts first: the metadata of a job are large. 1 if it has the fingerprint. */
static int matches(struct store *s, int64_t job, const struct fingerprint *f, const char *ignore,
		   struct reader *rd)
{
	_cleanup_fingerprint_ struct fingerprint other = {0};
	int r = load_command(rd, job, &other.command);

	if (r < 0 || !str_same(other.command, f->command))
		return r == -ENOENT ? 0 : r;
	r = load_tags(rd->tags, job, ignore, &other.tags);
	if (r < 0 || !str_same(other.tags, f->tags))
		return r;
	r = load_node(s, job, &other.node);
	return r < 0 ? r : str_same(other.node, f->node);
}

struct candidate {
	int64_t no;
	bool failed;
};

/* The candidates, all at once, the latest first: other statements run for each of them. */
static int64_t jobs_before(struct store *s, int64_t before_us, struct candidate **ret)
{
	_cleanup_stmt_ struct stmt *st =
		store_query(s,
			    "SELECT no, exitcode FROM job WHERE start_us < $1 "
			    "ORDER BY start_us DESC, no DESC",
			    db_int(before_us));
	size_t count = 0, cap = 0;
	int r;

	*ret = NULL;
	while ((r = stmt_step(st)) == 1) {
		GROW(*ret, count, cap);
		(*ret)[count++] = (struct candidate){
			stmt_get_int(st, 0), !stmt_is_null(st, 1) && stmt_get_int(st, 1) != 0};
	}
	return r < 0 ? r : (int64_t)count;
}

static void reverse(int64_t *v, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		const int64_t t = v[i];

		v[i] = v[n - 1 - i];
		v[n - 1 - i] = t;
	}
}

int64_t fingerprint_find(struct store *s, const struct fingerprint *f,
			 const struct fingerprint_search *q, int64_t **ret, size_t *ret_failed)
{
	_cleanup_(reader_release) struct reader rd = {0};
	_cleanup_free_ struct candidate *all = NULL;
	int64_t *found = NULL;
	size_t count = 0, cap = 0, failed = 0;
	int64_t n = jobs_before(s, q->before_us, &all), r = n < 0 ? n : 0;

	reader_open(&rd, s);
	for (int64_t i = 0; i < n && count < q->limit && r >= 0; i++) {
		r = matches(s, all[i].no, f, q->ignore_tags, &rd);
		if (r == 1 && all[i].failed && !q->with_failed) {
			failed++;
		} else if (r == 1) {
			GROW(found, count, cap);
			found[count++] = all[i].no;
		}
	}
	if (r < 0) {
		free(found);
		return r;
	}
	reverse(found, count);
	*ret = found;
	*ret_failed = failed;
	return (int64_t)count;
}
