/* NVIDIA's management library, opened at run time; see nvml.h. */
#include "sources/gpu/nvml.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "core/text/text.h"

/* The names to look up, and what to take where one is missing. */
static const struct {
	const char *name, *other;
} names[NVML_FUNCTION_COUNT] = {
#define F(name, other) {#name, #other},
	NVML_FUNCTIONS(F, NONE)
#undef F
};

const char *nvml_function_name(enum nvml_function function)
{
	return names[function].name;
}

void nvml_add_error(const struct nvml *n, int code, struct strbuf *out)
{
	const char *(*describe)(int) = (const char *(*)(int))n->functions[FN_nvmlErrorString];
	const char *text = describe ? describe(code) : NULL;

	if (text && *text)
		text_add_printable(out, text, strnlen(text, 200));
	else if (code == NVML_NOT_SUPPORTED)
		strbuf_addstr(out, "Not Supported");
	else if (code == NVML_NO_PERMISSION)
		strbuf_addstr(out, "Insufficient Permissions");
	else if (code == NVML_GPU_IS_LOST)
		strbuf_addstr(out, "GPU is lost");
	else
		strbuf_addf(out, "error %d of the NVIDIA library", code);
}

static void resolve(struct nvml *n)
{
	for (size_t i = 0; i < NVML_FUNCTION_COUNT; i++) {
		void *found = dlsym(n->library, names[i].name);

		if (!found && strcmp(names[i].other, "NONE") != 0)
			found = dlsym(n->library, names[i].other);
		/* a data pointer that is one to a function: POSIX says how */
		memcpy(&n->functions[i], &found, sizeof(found));
	}
}

/* What keeps the library from working, with a code that tells the cases apart. */
static int refuse(const struct nvml *n, int code, struct strbuf *why)
{
	strbuf_addstr(why, "the NVIDIA library is here, but ");
	if (code == NVML_DRIVER_NOT_LOADED) {
		strbuf_addstr(why, "its driver is not loaded");
		return -ENODEV;
	}
	if (code == NVML_VERSION_MISMATCH) {
		strbuf_addstr(why, "it is of another version than the loaded driver");
		return -EPROTO;
	}
	strbuf_addstr(why, "it cannot be used: ");
	nvml_add_error(n, code, why);
	return code == NVML_NO_PERMISSION ? -EACCES : -EIO;
}

int nvml_open(struct nvml *n, const char *path, struct strbuf *why)
{
	*n = (struct nvml){.library = dlopen(path, RTLD_NOW | RTLD_LOCAL)};
	if (!n->library) {
		const char *said = dlerror();

		if (!strchr(path, '/'))
			strbuf_addstr(why, "no NVIDIA driver library");
		else
			strbuf_addf(why, "no NVIDIA driver library: %s", said ? said : path);
		return -ENOENT;
	}
	resolve(n);
	int (*init)(void) = (int (*)(void))n->functions[FN_nvmlInit_v2];
	if (!init) {
		strbuf_addf(why, "'%s' is no NVIDIA driver library", path);
		dlclose(n->library);
		n->library = NULL;
		return -ENOENT;
	}
	int code = init();
	if (code == NVML_SUCCESS)
		return 0;
	int r = refuse(n, code, why);
	dlclose(n->library);
	n->library = NULL;
	return r;
}

void nvml_close(struct nvml *n)
{
	int (*end)(void) = (int (*)(void))n->functions[FN_nvmlShutdown];

	if (!n->library)
		return;
	if (end)
		(void)end();
	dlclose(n->library);
	n->library = NULL;
}
