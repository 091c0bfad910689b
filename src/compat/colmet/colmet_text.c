/*
 * What colmet shows to people: records as the text of its stdout backend, and the files that say
 * what counter_1, counter_2, ... are. The look is colmet's; numbers are whole, where colmet cuts
 * 1.49 seconds to "1" and 363,520 bytes to "355K".
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "compat/colmet/colmet_internal.h"
#include "core/text/text.h"

/* colmet sorts by descriptions that it does not show. */
static const char *const taskstats_order[] = {
	"coremem",
	"virtmem",
	"ac_btime",
	"read_char",
	"write_char",
	"cpu_scaled_run_real_total",
	"cancelled_write_bytes",
	"ac_etime",
	"ac_majflt",
	"ac_minflt",
	"blkio_count",
	"cpu_count",
	"swapin_count",
	"nivcsw",
	"freepages_count",
	"read_bytes",
	"read_syscalls",
	"ac_stime",
	"ac_stimescaled",
	"blkio_delay_total",
	"cpu_delay_total",
	"cpu_run_real_total",
	"cpu_run_virtual_total",
	"freepages_delay_total",
	"swapin_delay_total",
	"ac_utime",
	"ac_utimescaled",
	"nvcsw",
	"write_bytes",
	"write_syscalls",
};

/* A fraction without zeros at its end. */
static void add_fraction(struct strbuf *out, unsigned __int128 v, uint64_t unit, int digits)
{
	uint64_t whole = (uint64_t)(v / unit), part = (uint64_t)(v % unit);

	strbuf_addf(out, "%" PRIu64, whole);
	if (!part)
		return;
	strbuf_addf(out, ".%0*" PRIu64, digits, part);
	while (out->buf[out->len - 1] == '0')
		strbuf_cut(out, out->len - 1);
}

static void add_date(struct strbuf *out, int64_t seconds)
{
	time_t t = (time_t)seconds;
	char date[64];
	struct tm tm;

	if (localtime_r(&t, &tm) && strftime(date, sizeof(date), "%d/%m/%Y - %H:%M:%S", &tm))
		strbuf_addstr(out, date);
	else
		strbuf_addf(out, "%" PRId64, seconds);
}

/* The units in which colmet keeps values, and what it shows. */
static const struct {
	const char *unit, *shown;
	uint64_t times, by;
	int digits;
} units[] = {
	{"count", "count", 1, 1, 0},
	{"bytes", "bytes", 1, 1, 0},
	{"kbytes", "bytes", 1024, 1, 0},
	{"mbytes", "bytes", 1048576, 1, 0},
	{"sec", "seconds", 1, 1, 0},
	{"usec", "seconds", 1, 1000000, 6},
	{"nsec", "seconds", 1, 1000000000, 9},
	{"mbytes-usec", "bytes*seconds", 1048576, 1000000, 6},
	{"celsius", "celsius", 1, 1, 0},
};

static void add_number(struct strbuf *out, const struct row_field *f, int64_t v)
{
	bool negative = v < 0 && f->type == ROW_I64;
	uint64_t size = negative ? 0 - (uint64_t)v : (uint64_t)v;

	if (!strcmp(f->unit, "ts_date")) {
		add_date(out, v);
		return;
	}
	if (negative)
		strbuf_addch(out, '-');
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(units[i].unit, f->unit) != 0)
			continue;
		/* colmet's value for unknown is -1 */
		add_fraction(out, negative ? size : (unsigned __int128)size * units[i].times,
			     negative ? 1 : units[i].by, units[i].digits);
		strbuf_addf(out, " (%s)", units[i].shown);
		return;
	}
	strbuf_addf(out, "%" PRIu64, size);
}

static void add_field(struct strbuf *out, const struct fixed_row *r, size_t field, int width)
{
	const struct row_field *f = &r->table->fields[field];

	strbuf_addf(out, "\t%*s : ", width, f->name);
	if (f->type == ROW_TEXT)
		text_add_printable(out, *r->involved ? r->involved : "[]",
				   *r->involved ? strlen(r->involved) : 2);
	else if (r->absent >> field & 1 && f->type != ROW_I64)
		strbuf_addstr(out, "n/a");
	else if (f->type == ROW_F32)
		strbuf_addf(out, "%.9g", (double)r->values[field].f);
	else
		add_number(out, f, r->values[field].i);
	strbuf_addch(out, '\n');
}

/* Fields in the order of colmet's text: by description, which for most is the name. */
static void sort_fields(const struct row_table *b, size_t *order)
{
	for (size_t i = 0; i < b->field_count; i++) {
		size_t k = i;

		for (; k && strncmp(b->fields[i].name, "counter_", 8) != 0 &&
		       strcmp(b->fields[order[k - 1]].name, b->fields[i].name) > 0;
		     k--)
			order[k] = order[k - 1];
		order[k] = i;
	}
}

void colmet_text(const struct fixed_row *r, struct strbuf *out)
{
	const struct row_table *b = r->table;
	size_t order[ROW_FIELDS_MAX];
	int width = 0;

	sort_fields(b, order);
	for (size_t i = 0; i < b->field_count; i++) {
		int n = (int)strlen(b->fields[i].name);

		width = n > width ? n : width;
	}
	if (b == colmet_backends)
		for (size_t i = 0; i < ARRAY_SIZE(taskstats_order); i++)
			order[i] = (size_t)row_field_find(b, taskstats_order[i]);
	strbuf_addf(out, "%" PRIu64 "  Job(%" PRIu64 ")/ %s -> Host(", r->time_s, r->job, b->name);
	text_add_printable(out, r->host, strlen(r->host));
	strbuf_addstr(out, ") -> {\n");
	for (size_t i = 0; i < b->field_count; i++)
		add_field(out, r, order[i], width);
	strbuf_addstr(out, "}\n");
}

/* ---- what the counters are ------------------------------------------------------------------ */

static const char unsupported[] = "counter_not_supported_by_hardware";

/* counter_N,what,package,zone: the energy of a zone and its range. */
static void map_rapl(const struct sample_set *set, struct strbuf *out)
{
	struct colmet_zones zones;

	colmet_find_zones(set, &zones);
	for (unsigned i = 0; i < COLMET_ZONES; i++) {
		static const char *const kinds[] = {"package", "core", "dram"};
		static const char *const what[] = {"energy_microjoule",
						   "max_energy_range_microjoule"};

		for (unsigned k = 0; k < 2; k++) {
			strbuf_addf(out, "counter_%u,", 2 * i + k + 1);
			if (zones.entities[i] >= 0)
				strbuf_addf(out, "%s,package-%s,%s\n", what[k],
					    zones.domains[i / 3], kinds[i % 3]);
			else
				strbuf_addf(out, "%s,,\n",
					    i / 3 < zones.domain_count ? unsupported
								       : "no_counter");
		}
	}
}

static void map_temperature(const struct sample_set *set, struct strbuf *out)
{
	for (unsigned zone = 0; zone < COLMET_THERMAL_ZONES; zone++) {
		const char *type = NULL;
		size_t size = 0;

		for (size_t i = 0; i < set->entity_count; i++) {
			unsigned z;

			if (colmet_thermal_zone(&set->entities[i], &z) && z == zone)
				(void)entity_metadata(&set->entities[i], "type", &type, &size);
		}
		strbuf_addf(out, "counter_%u, ", zone + 1);
		if (type) {
			strbuf_add(out, type, size);
			strbuf_addf(out, "_%u\n", zone);
		} else {
			strbuf_addstr(out, "no counter\n");
		}
	}
}

static void map_perfhw(const struct sample_set *set, struct strbuf *out)
{
	unsigned places[COLMET_EVENTS];
	unsigned count = colmet_find_events(set, places);

	for (unsigned i = 0; i < COLMET_EVENTS; i++)
		strbuf_addf(out, "counter_%u,%s\n", i + 1,
			    i < count ? set->metrics[places[i]].name : "no_counter");
}

static const struct {
	const char *source, *kind;
	void (*map)(const struct sample_set *set, struct strbuf *out);
} mappings[] = {
	{"rapl", "RAPL", map_rapl},
	{"thermal", "temperature", map_temperature},
	{"job_counters", "perfhw", map_perfhw},
};

bool colmet_mapping(const char *source, const struct sample_set *set, int64_t time_us,
		    struct strbuf *ret_name, struct strbuf *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(mappings); i++) {
		if (strcmp(mappings[i].source, source) != 0)
			continue;
		strbuf_addf(ret_name, "%s_mapping.%" PRId64 ".%06" PRId64 ".csv", mappings[i].kind,
			    time_us / 1000000, time_us % 1000000);
		mappings[i].map(set, out);
		return true;
	}
	return false;
}

int colmet_mapping_write(const char *dir, const char *source, const struct sample_set *set,
			 int64_t time_us, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf name = STRBUF_INIT, text = STRBUF_INIT;

	strbuf_addf(&name, "%s/", dir);
	if (!colmet_mapping(source, set, time_us, &name, &text))
		return 0;
	_cleanup_close_ int fd =
		open(name.buf, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	ssize_t n = fd < 0 ? -1 : write(fd, text.buf, text.len);
	int r = n < 0 ? -errno : (size_t)n < text.len ? -ENOSPC : 0;

	if (r < 0) {
		strbuf_addf(why, "cannot write '%s': %s", name.buf, strerror(-r));
		if (fd >= 0)
			(void)unlink(name.buf);
	}
	return r;
}
