/* Finishing an import: the metadata of its part, and of all parts of the job; see job_parts.h. */
#include <string.h>

#include "store/analysis/job_analyses.h"
#include "store/import/import_internal.h"
#include "store/job_admin.h"

/* ---- one part ------------------------------------------------------------------------------- */

static void add_number(struct value *dict, const char *key, uint64_t n)
{
	if (n)
		value_set(dict, key, value_int(value_get_int(dict, key) + (int64_t)n));
}

static struct value *record_counts(const struct accounting *b)
{
	struct value *records = value_new(VALUE_DICT);
	struct accounting_sums sums;

	accounting_sum(b, &sums);
	add_number(records, "running", sums.running);
	add_number(records, "unknown_ends", sums.missing);
	add_number(records, "damaged_bytes", sums.damaged_bytes);
	add_number(records, "damaged_places", sums.damaged_places);
	add_number(records, "lossy", sums.lossy);
	return records;
}

static void warn_of_records(struct ingest *in, const struct value *records)
{
	if (value_get_int(records, "running"))
		ingest_warn(in,
			    "%lld process%s still running when the job was stored; values "
			    "recorded at exit are missing",
			    (long long)value_get_int(records, "running"),
			    plural(value_get_int(records, "running"), "", "es"));
	if (value_get_int(records, "unknown_ends"))
		ingest_warn(in, "the end of %lld process%s is unknown",
			    (long long)value_get_int(records, "unknown_ends"),
			    plural(value_get_int(records, "unknown_ends"), "", "es"));
	if (value_get_int(records, "damaged_bytes"))
		ingest_warn(in, "record files are damaged: %lld bytes in %lld %s",
			    (long long)value_get_int(records, "damaged_bytes"),
			    (long long)value_get_int(records, "damaged_places"),
			    plural(value_get_int(records, "damaged_places"), "place", "places"));
	if (value_get_int(records, "lossy"))
		ingest_warn(in, "the kernel dropped events; counts are lower bounds");
}

/* Notes with this part what is combined when other parts come. */
static void note_part(struct import *p, struct value *records)
{
	const struct value *warnings = ingest_warnings(p->in);

	if (!p->metadata)
		p->metadata = value_new(VALUE_DICT);
	value_set(p->metadata, "records", value_ref(records));
	value_set(p->metadata, "files", import_files(p));
	import_note_steps(p);
	if (warnings->list.count) {
		struct value *copy = value_new(VALUE_LIST);

		for (size_t i = 0; i < warnings->list.count; i++)
			value_append(copy, value_ref(warnings->list.items[i]));
		value_set(p->metadata, "warnings", copy);
	}
	if (p->samples)
		value_set(p->metadata, "sampled", sample_ingest_runs(p->samples));
}

/* ---- all parts ------------------------------------------------------------------------------ */

static void add_pairs(struct value *to, const struct value *from)
{
	for (size_t i = 0; i < value_pairs(from); i++)
		value_set(to, value_key(from, i)->str.data, value_ref(value_at(from, i)));
}

static void rename_key(struct value *metadata, const char *as, struct value *v)
{
	if (v)
		value_set(metadata, as, value_ref(v));
}

/* What a part noted of each host, as a run there would have said it. */
static void take_by_host(struct import *p, const struct value *hosts, const char *as)
{
	for (size_t i = 0; hosts && hosts->kind == VALUE_DICT && i < value_pairs(hosts); i++) {
		_cleanup_value_ struct value *one = value_new(VALUE_DICT);

		value_set(one, "host", value_str(value_key(hosts, i)->str.data));
		value_set(one, as, value_ref(value_at(hosts, i)));
		import_take_run(p, one);
	}
}

/* Adds the metadata that a part noted, in the same way as those of runs. */
static void take_part_metadata(struct import *p, const struct value *part)
{
	_cleanup_value_ struct value *metadata = value_new(VALUE_DICT);
	struct value *sampling = value_new(VALUE_DICT);
	const struct value *hosts = value_get(part, "host_cpu");
	const struct value *hardware = value_get(part, "hardware");
	const struct value *commands = value_get(part, "commands");

	value_set(metadata, "sampling", sampling);
	rename_key(sampling, "sources", value_get(part, "sources"));
	rename_key(metadata, "books", value_get(part, "books"));
	rename_key(metadata, "memory", value_get(part, "memory"));
	rename_key(metadata, "cpu", value_get(part, "cpu"));
	import_take_run(p, metadata);
	import_add_steps(p, value_get(part, "steps"));
	take_by_host(p, hardware, "hardware");
	take_by_host(p, hosts, "cpu");
	for (size_t i = 0; commands && commands->kind == VALUE_LIST && i < commands->list.count;
	     i++) {
		_cleanup_value_ struct value *one = value_new(VALUE_DICT);

		value_set(one, "command", value_ref(commands->list.items[i]));
		import_take_run(p, one);
	}
}

static void take_warnings(struct import *p, const struct value *parts)
{
	static const char *const keys[] = {"running", "unknown_ends", "damaged_bytes",
					   "damaged_places", "lossy"};
	_cleanup_value_ struct value *records = value_new(VALUE_DICT);

	ingest_forget_warnings(p->in);
	for (size_t i = 0; i < parts->list.count; i++) {
		const struct value *part = parts->list.items[i];
		const struct value *texts = value_get(part, "warnings");
		const struct value *own = value_get(part, "records");

		for (size_t k = 0; texts && texts->kind == VALUE_LIST && k < texts->list.count; k++)
			if (texts->list.items[k]->kind == VALUE_STR)
				ingest_warn(p->in, "%s", texts->list.items[k]->str.data);
		for (size_t k = 0; own && k < ARRAY_SIZE(keys); k++)
			add_number(records, keys[k], (uint64_t)value_get_int(own, keys[k]));
	}
	warn_of_records(p->in, records);
}

static bool same_pair(const struct value *a, const struct value *b, bool json)
{
	_cleanup_strbuf_ struct strbuf key = STRBUF_INIT, x = STRBUF_INIT, y = STRBUF_INIT;
	_cleanup_value_ struct value *pair = value_new(VALUE_DICT);

	if (!a || !b)
		return a == b;
	value_set(pair, "a", value_ref((struct value *)a));
	value_set(pair, "b", value_ref((struct value *)b));
	return pair_texts(pair, 0, json, &key, &x) && pair_texts(pair, 1, json, &key, &y) &&
	       x.len == y.len && !memcmp(x.buf, y.buf, x.len);
}

/* Is it an annotation that every import computes again? */
static bool is_computed_again(const char *key)
{
	static const char *const names[] = {
#define IMPORTER(symbol, annotation) annotation,
#include "store/import/importers.def"
#undef IMPORTER
		NULL,
	};

	for (size_t i = 0; names[i]; i++)
		if (str_prefix(key, names[i]))
			return true;
	return false;
}

/* Tags or annotations of all parts, with changes that people made in the store. */
static struct value *with_changes(const struct value *now, const struct value *before,
				  const struct value *stored, bool json)
{
	struct value *all = value_copy_dict(now);

	for (size_t i = 0; i < value_pairs(stored); i++) {
		const char *key = value_key(stored, i)->str.data;

		if (!is_computed_again(key) &&
		    !same_pair(value_get(before, key), value_at(stored, i), json))
			value_set(all, key, value_ref(value_at(stored, i)));
	}
	for (size_t i = 0; before && i < value_pairs(before); i++) {
		const char *key = value_key(before, i)->str.data;

		if (!value_get(stored, key))
			(void)value_unset(all, key);
	}
	return all;
}

void import_keep_notes(struct import *p, const struct part_join *j)
{
	const struct value *before = j->before;
	struct value *tags = with_changes(p->meta.tags, value_get(before, "tags"), j->tags, false);
	struct value *notes = with_changes(p->meta.annotations, value_get(before, "annotations"),
					   j->annotations, true);

	/* other data may give another result: the job counts as not analysed */
	struct value *analyses = value_copy_dict(j->analyses);

	(void)value_unset(analyses, ANALYSIS_OUTLIERS);
	value_free(p->meta.analyses);
	p->meta.analyses = analyses;
	value_free(p->meta.tags);
	value_free(p->meta.annotations);
	p->meta.tags = tags;
	p->meta.annotations = notes;
}

static int take_meta(struct import *p, const struct value *parts)
{
	jobmeta_release(&p->meta);
	p->has_meta = false;
	value_free(p->own);
	p->own = parts_union(parts);
	if (p->metadata)
		add_pairs(p->own, p->metadata);
	int r = jobmeta_from(&p->meta, p->own, p->why);
	if (r < 0)
		return r;
	p->has_meta = true;
	import_keep_notes(p, p->join);
	return 0;
}

static int join_parts(struct import *p, const char *source)
{
	_cleanup_value_ struct value *parts = value_new(VALUE_LIST);
	struct part_join *j = p->join;
	struct value *part = value_copy_dict(p->own);

	add_pairs(part, p->metadata);
	value_set(part, "source", value_str(source));
	for (size_t i = 0; i < j->parts->list.count; i++)
		value_append(parts, value_ref(j->parts->list.items[i]));
	value_append(parts, part);
	parts_sort(parts);
	value_free(p->metadata);
	p->metadata = NULL;
	for (size_t i = 0; i < parts->list.count; i++)
		take_part_metadata(p, parts->list.items[i]);
	take_warnings(p, parts);
	int r = take_meta(p, parts);
	if (r < 0)
		return r;
	p->result->parts = parts->list.count;
	part_rows_close(j->rows);
	j->rows = NULL;
	r = alerts_move(p->store, j->job, ingest_number(p->in));
	if (r == 0)
		r = store_delete_job(p->store, j->job);
	if (r < 0)
		strbuf_addstr(p->why, store_error(p->store));
	return r;
}

/* The source of the job: that of its first part. */
static const char *source_of(const struct import *p, const char *source)
{
	const struct value *parts = p->join ? value_get(p->own, "parts") : NULL;

	return parts ? value_get_str(parts->list.items[0], "source") : source;
}

int import_finish(struct import *p, const char *source)
{
	_cleanup_value_ struct value *records = record_counts(&p->accounting);
	bool native = part_is_native(p->own);
	int r = 0;

	if (!p->format)
		p->format = p->samples || p->join ? "plimsoll" : "empty";
	p->result->format = p->format;
	p->result->parts = 1;
	if (native)
		note_part(p, records);
	if (p->join) {
		r = join_parts(p, source);
	} else {
		warn_of_records(p->in, records);
		import_add_metadata(p);
	}
	if (r == 0)
		r = ingest_finish(p->in, &p->meta, p->format, source_of(p, source), p->o->strict,
				  &p->result->sums, p->why);
	if (r == 0)
		p->result->job = ingest_number(p->in);
	return r;
}
