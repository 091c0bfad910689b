/* A sampler in its own process; see sidecar.h. */
#include "sampler/sidecar.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/text/json_writer.h"

/* How long the last samples may delay the command's end. */
#define LAST_MS 5000
#define ANSWER_MAX 65536

struct value *sampler_metadata(const struct sampler_result *r)
{
	struct value *v = value_new(VALUE_DICT);

	value_set(v, "ended_by", value_str(r->end ? r->end : "error"));
	value_set(v, "ticks", value_int((int64_t)r->ticks));
	value_set(v, "overruns", value_int((int64_t)r->overruns));
	value_set(v, "lost", value_int((int64_t)r->lost));
	value_set(v, "late_max_ns", value_int((int64_t)r->late_max_ns));
	value_set(v, "late_mean_ns",
		  value_int((int64_t)(r->ticks ? r->late_sum_ns / r->ticks : 0)));
	value_set(v, "duration_us", value_int((int64_t)(r->end_ns - r->begin_ns) / 1000));
	value_set(v, "cpu_us", value_int((int64_t)r->cpu_us));
	value_set(v, "stretch_max", value_int(r->stretch_max));
	if (r->itemised_known)
		value_set(v, "itemised_cpu_us", value_int((int64_t)r->itemised_us));
	if (r->total_known)
		value_set(v, "cgroup_cpu_us", value_int((int64_t)r->total_us));
	if (r->itemised_known && r->total_known)
		value_set(v, "residue_cpu_us", value_int((int64_t)(r->total_us - r->itemised_us)));
	if (r->write_error)
		value_set(v, "write_error", value_str(strerror(r->write_error)));
	if (r->sources)
		value_set(v, "sources", value_ref(r->sources));
	return v;
}

/* Closes all other descriptors: nobody shall wait for a pipe that we happen to hold. */
static void let_go(int stop, int done, int file)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd < 3 && null >= 0; fd++)
		dup2(null, fd);
	for (int fd = 3; fd < 1024; fd++)
		if (fd != stop && fd != done && fd != file)
			close(fd);
}

/* Sent to the sampler when the command runs. */
struct beginning {
	int32_t pid;
	uint64_t ns;
};

static void serve(const struct sampler_options *given, int stop, int done)
{
	struct sampler_options o = *given;
	/* a command that ended before it could be sampled has no samples */
	struct sampler_result r = {.end = "job"};
	struct job_processes watch;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
	struct beginning begun;

	setsid();
	signal(SIGPIPE, SIG_IGN);
	let_go(stop, done, o.file);
	if (read(stop, &begun, sizeof(begun)) != (ssize_t)sizeof(begun))
		return;
	struct job_processes_options wo = {.kind = JOB_PROCESSES_PIDS,
					   .root = "",
					   .pids = &(int){begun.pid},
					   .pid_count = 1,
					   .all_users = true};
	if (job_processes_open(&watch, &wo, &why) == 0) {
		o.watch = &watch;
		o.begin_ns = begun.ns;
		o.stop = stop;
		sampler_run(&o, &r);
	}
	_cleanup_value_ struct value *metadata = sampler_metadata(&r);
	value_to_json(metadata, &j, NULL);
	(void)!write(done, j.out.buf, j.out.len);
	sampler_result_release(&r);
}

int sidecar_start(struct sidecar *s, const struct sampler_options *o)
{
	int stop[2], done[2];

	*s = (struct sidecar)SIDECAR_INIT;
	if (pipe2(stop, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(done, O_CLOEXEC) < 0) {
		int e = errno;

		close(stop[0]);
		close(stop[1]);
		return -e;
	}
	pid_t pid = fork();
	if (pid == 0) {
		close(stop[1]);
		close(done[0]);
		/* the child in between exits at once, so that the sampler is not our child */
		if (fork() == 0)
			serve(o, stop[0], done[1]);
		_exit(0);
	}
	int e = pid < 0 ? -errno : 0;
	close(stop[0]);
	close(done[1]);
	if (e < 0) {
		close(stop[1]);
		close(done[0]);
		return e;
	}
	waitpid(pid, NULL, 0);
	s->stop = stop[1];
	s->done = done[0];
	return 0;
}

void sidecar_begin(struct sidecar *s, pid_t command, uint64_t begin_ns)
{
	struct beginning begun = {.pid = command, .ns = begin_ns};

	if (s->stop >= 0)
		(void)!write(s->stop, &begun, sizeof(begun));
}

struct value *sidecar_end(struct sidecar *s)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, why = STRBUF_INIT;
	struct value *metadata = NULL;
	struct pollfd p = {.fd = s->done, .events = POLLIN};
	char buf[4096];
	ssize_t n;

	if (s->stop < 0)
		return NULL;
	close(s->stop);
	while (text.len < ANSWER_MAX && poll(&p, 1, LAST_MS) > 0 &&
	       (n = read(s->done, buf, sizeof(buf))) > 0)
		strbuf_add(&text, buf, (size_t)n);
	close(s->done);
	*s = (struct sidecar)SIDECAR_INIT;
	if (!text.len || value_from_json(text.buf, text.len, &metadata, &why) < 0)
		return NULL;
	return metadata;
}
