/*
 * Sensors with one value per file of /sys: hwmon channels, thermal zones and cooling devices. The
 * source finds and names them; reading, absence and closing are the same for all.
 */
#pragma once

#include "sources/source.h"
#include "sources/sysfile.h"

struct sensor {
	char *name;           /* of its entity, unique */
	char *dir;            /* where its files are */
	char *type;           /* of the chip, zone or device */
	char *prefix;         /* of its files, or NULL */
	unsigned metric;      /* a counter restarts at 0 when it falls */
	bool negative;        /* may be below 0: otherwise such a value means unknown */
	struct sysfile value; /* the number */
	struct sysfile fault; /* anything but 0: the value is wrong; may be unset */
	struct unwrap count;
	bool described;
};

struct sensor_list {
	struct sensor *list;
	size_t count, cap;
	/* Sets the metadata of a sensor before its first row. */
	void (*describe)(struct sample_set *set, uint32_t entity, const struct sensor *z);
};

/* Adds a sensor with the value in "dir/file"; the strings belong to the list from now on. */
struct sensor *sensors_add(struct sensor_list *l, unsigned metric, char *name, char *dir,
			   char *type, const char *file);
bool sensors_have(const struct sensor_list *l, const char *name);
/* Adds "temperatures: 3, fans: 2": a word per metric, and how many sensors it has. */
void sensors_count(const struct sensor_list *l, const char *const *words, size_t count,
		   struct strbuf *out);

/* Ends opening: reports metrics without a sensor as absent. Without any sensor -ENOENT, the text
 * none in *why, and the list is freed. */
int sensors_opened(struct sensor_list *l, struct sample_set *set, void **state, const char *none,
		   const char *absent, struct strbuf *why);
/* The functions of a source; the state is a struct sensor_list. */
int sensors_read(void *state, struct sample_set *set);
void sensors_close(void *state);
