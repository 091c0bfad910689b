/* Suggests what an unknown command or option was meant to be. */
#include <string.h>

#include "cmd/command.h"
#include "context/current_job.h"
#include "core/system/spawn.h"
#include "core/text/similar.h"
#include "core/text/text.h"

/* Words that people type for a command. */
static const struct {
	const char *words, *command;
} meanings[] = {
	{",ls,jobs,history,", "list"},
	{",ps,processes,process,", "procs"},
	{",rm,remove,drop,", "delete"},
	{",info,status,stat,last,job,details,", "show"},
	{",cpu,memory,mem,ram,io,net,network,gpu,power,energy,live,watch,htop,", "top"},
	{",stats,summary,verdict,analyze,analyse,html,pdf,result,results,", "report"},
	{",graph,chart,draw,picture,", "plot"},
	{",curve,curves,samples,values,timeseries,", "series"},
	{",exec,record,profile,time,launch,trace,", "run"},
	{",import,load,ingest,add,", "submit"},
	{",select,", "sql"},
	{",find,filter,search,where,", "query"},
	{",doctor,diagnose,probe,", "check"},
	{",save,csv,parquet,", "export"},
	{",hw,lscpu,cpuinfo,", "hardware"},
	{",begin,", "start"},
	{",end,finish,", "stop"},
	{",settings,setup,", "config"},
	{",counters,perf,", "events"},
	{",server,collector,", "collect"},
};

/* The command that a word means or resembles, for "did you mean"; NULL: none. */
static const char *near_name(const char *word)
{
	_cleanup_free_ char *want = xasprintf(",%.*s,", NEAR_BYTES_MAX, word);
	unsigned least = strlen(word) < 4 ? 1 : 2;
	const char *near = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(meanings); i++)
		if (!strchr(word, ',') && strcasestr(meanings[i].words, want))
			return meanings[i].command;
	for (const struct command *const *c = commands; *c; c++)
		if (str_prefix((*c)->name, word) || str_prefix(word, (*c)->name))
			return (*c)->name;
	for (const struct command *const *c = commands; *c; c++) {
		unsigned d = word_distance(word, (*c)->name);

		if (d <= least) {
			least = d ? d - 1 : 0;
			near = (*c)->name;
		}
	}
	return near;
}

int unknown_command(const char *word)
{
	const char *near = looks_like_path(word) ? NULL : near_name(word);
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT;

	if (near)
		return usage_error(NULL, "unknown command '%s'; did you mean '%s'?", word, near);
	if (looks_like_path(word) || (*word && spawn_find("", word, &path)))
		return usage_error("run",
				   "unknown command '%s'; to record it: `plimsoll run -- %s`", word,
				   word);
	return usage_error(NULL, "unknown command '%s'", word);
}

/* ---- options -------------------------------------------------------------------------------- */

/* Synonyms; a command has one option of each line. */
static const char *const same[] = {
	",format,form,type,html,pdf,csv,parquet,",
	",output,out,file,html,pdf,svg,png,save,",
	",interval,period,every,sample,frequency,freq,delay,",
	",limit,max,number,count,head,",
	",db,database,store,",
	",since,after,from,",
	",until,before,to,",
	",ingest,inbox,input,dir,directory,",
	",metric,metrics,",
	",job-tags,tags,tag,",
};

static bool has_word(const char *words, const char *word, size_t n)
{
	_cleanup_free_ char *want = xasprintf(",%.*s,", (int)n, word);

	return strcasestr(words, want);
}

static const struct option_row *near_option(const struct command *c, const char *word, size_t n)
{
	_cleanup_free_ char *name = xstrndup(word, n);
	const struct option_row *near = NULL;
	unsigned least = n < 4 ? 1 : 2;

	for (size_t i = 0; n && i < ARRAY_SIZE(same); i++)
		for (const struct option_row *o = c->options; o && o->name; o++)
			if (!strchr(name, ',') && has_word(same[i], name, n) &&
			    has_word(same[i], o->name, strlen(o->name)))
				return o;
	for (const struct option_row *o = c->options; o && o->name; o++) {
		unsigned d = word_distance(name, o->name);

		if (d <= least) {
			least = d ? d - 1 : 0;
			near = o;
		}
	}
	return near;
}

int unknown_option(const struct command *c, const char *option)
{
	const char *word = option + strspn(option, "-");
	size_t n = strcspn(word, "=");
	const struct option_row *near = near_option(c, word, n < NEAR_BYTES_MAX ? n : 0);

	if (!near)
		return usage_error(c->name, "%s: unknown option %s", c->name, option);
	return usage_error(c->name, "%s: unknown option %s; did you mean --%s%s%s?", c->name,
			   option, near->name, near->arg ? " " : "", near->arg ? near->arg : "");
}
