/* See job_details.h. */
#include "views/jobs/job_details.h"

#include <signal.h>
#include <string.h>

#include "core/text/text.h"
#include "core/value.h"
#include "jobs/job_layout.h"
#include "store/job_metadata.h"

#define COMMAND_MAX 4096 /* bytes that are shown of a command line */

void job_details_release(struct job_details *f)
{
	free(f->command);
	free(f->again);
	free(f->batch);
	free(f->task);
	free(f->cut_off);
	*f = (struct job_details){0};
}

/* ---- command -------------------------------------------------------------------------------- */

static void add_words(struct strbuf *out, const struct value *words)
{
	for (size_t i = 0; words->kind == VALUE_LIST && i < words->list.count; i++) {
		const struct value *w = words->list.items[i];

		if (w->kind != VALUE_STR || out->len > COMMAND_MAX)
			continue;
		if (i)
			strbuf_addch(out, ' ');
		text_add_shell(out, w->str.data);
	}
}

/* In one line: what has control characters or is very long is no command to paste. */
static char *again_of(const struct value *meta)
{
	const struct value *commands = value_get(meta, "commands");
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (!commands || commands->kind != VALUE_LIST || commands->list.count != 1)
		return NULL;
	add_words(&text, commands->list.items[0]);
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.buf[i] < 0x20 || text.buf[i] == 0x7f)
			return NULL;
	return text.len && text.len <= COMMAND_MAX ? strbuf_take(&text) : NULL;
}

static char *command_of(const struct value *meta)
{
	const struct value *commands = value_get(meta, "commands");
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (commands && commands->kind == VALUE_LIST && commands->list.count) {
		add_words(&text, commands->list.items[0]);
		if (text.len > COMMAND_MAX) {
			strbuf_cut(&text, COMMAND_MAX);
			strbuf_addstr(&text, "...");
		}
		if (commands->list.count > 1)
			strbuf_addf(&text, " (and %zu more)", commands->list.count - 1);
	}
	const char *key;
	for (size_t i = 0; !text.len && (key = metadata_key(KEY_SCRIPT, i)); i++) {
		const char *name = value_get_str(meta, key);

		strbuf_addstr(&text, name ? name : "");
	}
	return text.len ? strbuf_take(&text) : NULL;
}

/* ---- batch system --------------------------------------------------------------------------- */

static const char *word_of(const struct value *v, const char *key)
{
	const char *s = v && v->kind == VALUE_DICT ? value_get_str(v, key) : NULL;

	return s && *s ? s : NULL;
}

static void take_batch(struct job_details *f, const struct value *meta)
{
	const struct value *s = value_get(meta, "scheduler");
	const struct value *env = metadata_batch_environment(meta);
	const char *array = word_of(s, "array_job"), *task = word_of(s, "array_task");
	const char *name = word_of(s, "name"), *queue = word_of(s, "partition");
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (!name && word_of(env, "SLURM_JOB_ID")) {
		name = "slurm";
		array = word_of(env, "SLURM_ARRAY_JOB_ID");
		task = word_of(env, "SLURM_ARRAY_TASK_ID");
		queue = word_of(env, "SLURM_JOB_PARTITION");
	}
	if (!name)
		return;
	strbuf_addstr(&text, name);
	if (array && task)
		f->task = xasprintf("%s_%s", array, task);
	else if (task)
		f->task = xasprintf("[%s]", task);
	if (f->task)
		strbuf_addf(&text, ", array task %s", f->task);
	if (queue || (queue = word_of(s, "queue")))
		strbuf_addf(&text, ", queue %s", queue);
	if (word_of(s, "account"))
		strbuf_addf(&text, ", account %s", word_of(s, "account"));
	f->batch = strbuf_take(&text);
}

char *cut_off_text(const struct value *cut)
{
	const struct value *sig = value_get(cut, "signal");
	const char *name = NULL;

	if (!cut || cut->kind != VALUE_DICT)
		return NULL;
	if (value_get(cut, "killed") && value_get(cut, "monitor"))
		return xstrdup("the monitor was killed: the end of the job is unknown");
	if (value_get(cut, "killed") && value_get(cut, "end_known"))
		return xstrdup(
			"plimsoll itself was killed: the end of the command is taken from its "
			"own record");
	if (value_get(cut, "killed"))
		return xstrdup("plimsoll itself was killed: the end of the command is unknown");
	if (sig && sig->kind == VALUE_INT && sig->integer > 0 && sig->integer < NSIG)
		name = sigabbrev_np((int)sig->integer);
	if (!name)
		return NULL;
	if (value_get(cut, "monitor") && !value_get(cut, "at_limit"))
		return xasprintf(
			"SIG%s ended the monitor while the job ran: what happened later is "
			"unknown",
			name);
	return xasprintf("SIG%s came from outside%s", name,
			 value_get(cut, "at_limit") ? ", at the time limit of the batch job"
			 : value_get(cut, "batch")  ? ", as a batch system sends it at a time limit"
						    : "");
}

void job_details_load(struct job_details *f, struct store *s, int64_t job)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *meta = NULL;

	*f = (struct job_details){0};
	if (jobmeta_load(s, job, &meta, &why) <= 0 || meta->kind != VALUE_DICT)
		return;
	f->command = command_of(meta);
	f->again = again_of(meta);
	take_batch(f, meta);
	f->cut_off = cut_off_text(value_get(meta, "cut_off"));
	f->end_known = value_get(value_get(meta, "cut_off"), "end_known") != NULL;
	const struct value *parts = value_get(meta, "parts");
	f->parts = parts && parts->kind == VALUE_LIST ? parts->list.count : 0;
}
