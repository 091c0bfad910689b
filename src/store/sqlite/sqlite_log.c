/*
 * The write-ahead log of a SQLite store. Committed data may be in the log only, which is found by
 * the path of the store: a store that is moved or copied without it would lose them, and a new
 * store at that path empties it.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

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

/* The path may be a link, which SQLite does not check. */
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

	(void)sqlite3_file_control(db_of(s), *s->secret ? s->secret : "main",
				   SQLITE_FCNTL_HAS_MOVED, &moved);
	return moved || (s->file[1] && stat(s->where, &st) == 0 &&
			 (st.st_dev != s->file[0] || st.st_ino != s->file[1]));
}

/* SQLite does it when the last user closes the store, unless it was moved. Its descriptors are
 * those of the old file and log. */
void sqlite_settle_last(struct store *s)
{
	bool moved = sqlite_moved(s);

	if (!moved && !sqlite3_total_changes(db_of(s)))
		return;
	if (sqlite3_db_readonly(db_of(s), "main") == 1) /* it cannot, and has lost nothing */
		return;
	if (sqlite_settle(s, moved ? s->wait_ms : 0) < 0 && moved)
		log_error("%s; it was moved or removed, and may lack the data committed last",
			  store_error(s));
}
