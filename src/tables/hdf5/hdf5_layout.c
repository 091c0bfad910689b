/*
 * The layout of a collector's file: groups, tables, and the attributes by which PyTables recognises
 * them. NROWS is left out: readers use the size of the table, and a number that changes with every
 * row could be wrong.
 */
#include <string.h>

#include "tables/hdf5/hdf5_module.h"

#define CHUNK_NODE (64u << 10) /* larger: the node's tables have rows of all hosts */
#define CHUNK_ROWS_MIN 4
#define MODELS_MAX 256
#define MODEL_GROUP "group"

bool hdf5_set_attribute(hid_t object, const char *name, hid_t type, const void *value)
{
	_cleanup_id_ hid_t space = H5Screate(value ? H5S_SCALAR : H5S_NULL);
	_cleanup_id_ hid_t a = H5Aexists(object, name) > 0 ? H5Aopen(object, name, H5P_DEFAULT)
							   : H5Acreate2(object, name, type, space,
									H5P_DEFAULT, H5P_DEFAULT);

	return a >= 0 && (!value || H5Awrite(a, type, value) >= 0);
}

static hid_t text_type(size_t size, H5T_cset_t set)
{
	hid_t t = H5Tcopy(H5T_C_S1);

	H5Tset_size(t, size ? size : 1);
	H5Tset_cset(t, set);
	return t;
}

bool hdf5_set_text(hid_t object, const char *name, const char *text)
{
	_cleanup_id_ hid_t t = text_type(strlen(text), H5T_CSET_UTF8);

	return hdf5_set_attribute(object, name, t, *text ? text : NULL);
}

bool hdf5_set_pickle(hid_t object, const char *name, const char *pickle)
{
	_cleanup_id_ hid_t t = text_type(strlen(pickle), H5T_CSET_ASCII);

	return hdf5_set_attribute(object, name, t, pickle);
}

static bool mark_group(hid_t group)
{
	return hdf5_set_text(group, "CLASS", "GROUP") && hdf5_set_text(group, "TITLE", "") &&
	       hdf5_set_text(group, "VERSION", "1.0");
}

bool hdf5_make_root(hid_t file)
{
	_cleanup_id_ hid_t root = H5Gopen2(file, "/", H5P_DEFAULT);

	return root >= 0 && mark_group(root) &&
	       hdf5_set_text(root, "PYTABLES_FORMAT_VERSION", "2.1");
}

hid_t hdf5_models(void)
{
	_cleanup_id_ hid_t memory = H5Pcreate(H5P_FILE_ACCESS);

	return memory >= 0 && H5Pset_fapl_core(memory, 64u << 10, false) >= 0
		       ? H5Fcreate("models", H5F_ACC_TRUNC, H5P_DEFAULT, memory)
		       : -1;
}

/* Limits the templates: a node that sends ever new columns must not use up our memory. */
static bool has_room(hid_t models)
{
	H5G_info_t info;

	return models >= 0 && H5Gget_info(models, &info) >= 0 && info.nlinks < MODELS_MAX;
}

static bool make_group(hid_t file, const char *name)
{
	_cleanup_id_ hid_t g = H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

	return g >= 0 && mark_group(g);
}

bool hdf5_make_group(hid_t models, hid_t file, const char *job)
{
	_cleanup_free_ char *name = xasprintf("job_%s", job);

	if (H5Lexists(file, name, H5P_DEFAULT) > 0)
		return true;
	if (models >= 0 && H5Lexists(models, MODEL_GROUP, H5P_DEFAULT) <= 0)
		(void)make_group(models, MODEL_GROUP);
	return (models >= 0 &&
		H5Ocopy(models, MODEL_GROUP, file, name, H5P_DEFAULT, H5P_DEFAULT) >= 0) ||
	       make_group(file, name);
}

size_t hdf5_chunk_rows(const struct hdf5_schema *schema, const char *job)
{
	size_t n = (strcmp(job, "0") ? HDF5_CHUNK : CHUNK_NODE) / schema->row_size;

	return n < CHUNK_ROWS_MIN ? CHUNK_ROWS_MIN : n;
}

hid_t hdf5_table_access(void)
{
	hid_t p = H5Pcreate(H5P_DATASET_ACCESS);

	if (p >= 0)
		H5Pset_chunk_cache(p, 1, 0, 1);
	return p;
}

static hid_t creation(const struct hdf5_schema *schema, const char *job, int level)
{
	hid_t p = H5Pcreate(H5P_DATASET_CREATE);
	hsize_t rows = hdf5_chunk_rows(schema, job);

	if (p < 0 || H5Pset_chunk(p, 1, &rows) < 0 ||
	    H5Pset_fill_value(p, schema->type, schema->fill) < 0 ||
	    H5Pset_fill_time(p, H5D_FILL_TIME_NEVER) < 0 ||
	    (level && (H5Pset_shuffle(p) < 0 || H5Pset_deflate(p, (unsigned)level) < 0))) {
		if (p >= 0)
			H5Pclose(p);
		return -1;
	}
	return p;
}

static bool mark_column(hid_t table, size_t i, const struct hdf5_schema *schema, size_t at)
{
	const struct hdf5_column *c = &schema->columns[i];
	char name[32];
	const hid_t types[] = {[HDF5_I64] = H5T_STD_I64LE,
			       [HDF5_F32] = H5T_IEEE_F32LE,
			       [HDF5_F64] = H5T_IEEE_F64LE};

	snprintf(name, sizeof(name), "FIELD_%zu_NAME", i);
	if (!hdf5_set_text(table, name, c->name))
		return false;
	snprintf(name, sizeof(name), "FIELD_%zu_FILL", i);
	if (c->type != HDF5_TEXT)
		return hdf5_set_attribute(table, name, types[c->type], schema->fill + at);
	_cleanup_id_ hid_t t = text_type(1, H5T_CSET_ASCII);
	return hdf5_set_attribute(table, name, t, "");
}

static char *title_of(const char *job)
{
	return xasprintf("Metrics for the Job %s", job);
}

static bool mark_table(hid_t table, const char *job, const struct hdf5_schema *schema, int version)
{
	_cleanup_free_ char *title = title_of(job);
	const int64_t number = version;
	size_t at = 0;

	if (!hdf5_set_text(table, "CLASS", "TABLE") || !hdf5_set_text(table, "VERSION", "2.7") ||
	    !hdf5_set_text(table, "TITLE", title) ||
	    (version && !hdf5_set_attribute(table, "backend_version", H5T_STD_I64LE, &number)) ||
	    (schema->note && !hdf5_set_text(table, HDF5_NOTE, schema->note)))
		return false;
	for (size_t i = 0; i < schema->count; i++) {
		if (!mark_column(table, i, schema, at))
			return false;
		at += schema->columns[i].size;
	}
	return true;
}

static hid_t make_anew(hid_t file, const char *job, const char *link,
		       const struct hdf5_schema *schema, int version, int level)
{
	const hsize_t none = 0, any = H5S_UNLIMITED;
	_cleanup_id_ hid_t space = H5Screate_simple(1, &none, &any);
	_cleanup_id_ hid_t how = creation(schema, job, level);
	_cleanup_id_ hid_t access = hdf5_table_access();
	hid_t t = H5Dcreate2(file, link, schema->type, space, H5P_DEFAULT, how, access);

	if (t >= 0 && !mark_table(t, job, schema, version)) {
		H5Dclose(t);
		return -1;
	}
	return t;
}

/* A copy differs from its template only in the title, which has the same length. */
static hid_t make_copy(hid_t models, hid_t file, const char *job, const char *link,
		       const struct hdf5_schema *schema, int version, int level)
{
	_cleanup_free_ char *title = title_of(job);
	bool node = !strcmp(job, "0");
	char model[64];

	snprintf(model, sizeof(model), "%u.%d.%d.%zu", schema->number, version, node, strlen(job));
	if (H5Lexists(models, model, H5P_DEFAULT) <= 0) {
		hid_t made = has_room(models)
				     ? make_anew(models, job, model, schema, version, level)
				     : -1;

		if (made < 0)
			return -1;
		H5Dclose(made);
	}
	if (H5Ocopy(models, model, file, link, H5P_DEFAULT, H5P_DEFAULT) < 0)
		return -1;
	_cleanup_id_ hid_t access = hdf5_table_access();
	hid_t t = H5Dopen2(file, link, access);
	if (t >= 0 && !hdf5_set_text(t, "TITLE", title)) {
		H5Dclose(t);
		return -1;
	}
	return t;
}

hid_t hdf5_make_table(hid_t models, hid_t file, const char *job, const char *link,
		      const struct hdf5_schema *schema, int version, int level)
{
	hid_t t = models < 0 ? -1 : make_copy(models, file, job, link, schema, version, level);

	if (t < 0 && H5Lexists(file, link, H5P_DEFAULT) <= 0)
		t = make_anew(file, job, link, schema, version, level);
	return t;
}
