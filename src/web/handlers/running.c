/* Jobs that run on this host and are not in the store yet, from their job directories. */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#include "core/files/fs.h"
#include "jobs/job_directory.h"
#include "jobs/metadata.h"
#include "web/handlers/handlers.h"
#include "web/handlers/job_place.h"
#include "web/handlers/live.h"
#include "web/server.h"

#define JOBS_MAX 1000

static void add_job(struct json_writer *j, const struct job_directory *d, const struct value *meta)
{
	json_begin_object(j, NULL);
	json_str(j, "jobid", d->id);
	json_str(j, "jobname", metadata_text(meta, KEY_NAME));
	json_str(j, "user", metadata_text(meta, KEY_USER));
	json_str(j, "start", value_get_str(meta, "start"));
	json_bool(j, "running", true);
	json_end_object(j);
}

static void look_at(struct json_writer *j, const struct web_request *q, const char *id)
{
	_cleanup_job_directory_ struct job_directory d = JOB_DIRECTORY_INIT;
	_cleanup_strbuf_ struct strbuf ignored = STRBUF_INIT;
	const struct config *config = web_config(q->server);
	_cleanup_free_ char *at = job_directory_find(config, id);
	_cleanup_value_ struct value *meta = NULL;

	if (at && viewer_may_read(&q->viewer->who, at) &&
	    job_directory_open(&d, config, &job_layout_native, id, false, &ignored) == 0 &&
	    job_directory_read_meta(&d, &meta, NULL, &ignored) == 0 &&
	    job_directory_running(&d, false, NULL) > 0)
		add_job(j, &d, meta);
}

void web_running(const struct web_request *q, struct store *s PL_UNUSED, struct web_answer *a)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
	_cleanup_strbuf_ struct strbuf ignored = STRBUF_INIT;
	const struct config *config = web_config(q->server);
	_cleanup_close_ int prefix =
		job_directory_open_prefix(config, &job_layout_native, false, &ignored);
	_cleanup_list_ DIR *list = prefix < 0 ? NULL : fs_open_list(prefix, ".");
	const struct dirent *e;
	size_t count = 0;

	json_begin_array(&j, NULL);
	while (list && count < JOBS_MAX && (e = readdir(list)))
		if (e->d_name[0] != '.' && e->d_type != DT_REG) {
			look_at(&j, q, e->d_name);
			count++;
		}
	json_end_array(&j);
	a->not_kept = true;
	web_take_json(a, &j);
}

void web_live(const struct web_request *q, struct store *s, struct web_answer *a)
{
	_cleanup_job_place_ struct job_place p = JOB_PLACE_INIT;

	if (!web_find_job(q, s, &p, a))
		return;
	a->not_kept = true;
	a->stream = live_open(&q->server->live, &p);
	a->type = "text/event-stream";
	if (!a->stream)
		web_fail(a, 503, "close another page", "too many pages follow jobs");
}
