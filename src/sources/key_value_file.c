/* See key_value_file.h. */
#include "sources/key_value_file.h"

void put_keys(struct sample_set *set, const struct cached_file *k, const struct key_metric *keys,
	      size_t count)
{
	struct words text = cached_file_words(k), line, key;
	uint64_t v;

	while (line_next(&text, &line)) {
		if (!word_next(&line, &key))
			continue;
		if (key.end[-1] == ':')
			key.end--;
		for (size_t i = 0; i < count; i++)
			if (keys[i].key && word_is(&key, keys[i].key)) {
				if (number_next(&line, &v))
					sample_put(set, keys[i].metric, (int64_t)v);
				break;
			}
	}
}

void absent_keys(struct sample_set *set, const char *file, const struct key_metric *keys,
		 size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (keys[i].key && !put_already(set, keys[i].metric))
			sample_absent(set, keys[i].metric, "%s of this kernel has no %s", file,
				      keys[i].key);
}
