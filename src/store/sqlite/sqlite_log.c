/*
 * The write-ahead log of a SQLite store. What was committed may rest in it alone, and it is found
 * by the name of the store: a store that is moved, or copied and removed, would be without it, and
 * whoever makes another of its name empties it.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/files/fs.h"
#include "core/log.h"
#include "store/sqlite/sqlite.h"

bool sqlite_on_network(const char *path)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *dir =
		slash ? xstrndup(path, (size_t)(slash - path) + 1) : xstrdup(".");
	_cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd >= 0 && fs_is_network(fd);
}

int sqlite_settle(struct store *s, int wait_ms)
{
	sqlite3_busy_timeout(db_of(s), wait_ms);
	int r = sqlite3_wal_checkpoint_v2(db_of(s), "main", SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	sqlite3_busy_timeout(db_of(s), s->wait_ms);
	return r == SQLITE_OK ? 0 : sqlite_failed(s, r);
}

/* Its name may be a link: SQLite looks at the file behind it only. */
void sqlite_remember_file(struct store *s)
{
	struct stat st;

	if (stat(s->where, &st) == 0 && S_ISREG(st.st_mode)) {
		s->file[0] = st.st_dev;
		s->file[1] = st.st_ino;
	}
}

bool sqlite_moved(const struct store *s)
{
	struct stat st;
	int moved = 0;

	(void)sqlite3_file_control(db_of(s), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
	return moved || (s->file[1] && stat(s->where, &st) == 0 &&
			 (st.st_dev != s->file[0] || st.st_ino != s->file[1]));
}

/* SQLite does it for the last one who closes a store, unless the store was moved. Its descriptors
 * are of the old file and of the old log. */
void sqlite_settle_last(struct store *s)
{
	bool moved = sqlite_moved(s);

	if (!moved && !sqlite3_total_changes(db_of(s)))
		return;
	if (sqlite_settle(s, moved ? s->wait_ms : 0) < 0 && moved)
		log_error("%s; it was moved or removed, and what was committed last may not be in "
			  "it",
			  store_error(s));
}
