/* NVIDIA's management library, opened at run time; see nvml.h. */
#include "sources/gpu/nvml.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "core/text/text.h"

/* The names to look up, and their substitutes. */
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
		/* POSIX allows to convert the pointer this way only */
		memcpy(&n->functions[i], &found, sizeof(found));
	}
}

/* Explains why the library cannot be used; the errno tells the cases apart. */
static int refuse(const struct nvml *n, int code, struct strbuf *why)
{
	strbuf_addstr(why, "found the NVIDIA library, but ");
	if (code == NVML_DRIVER_NOT_LOADED)
		return strbuf_fail(why, -ENODEV, "its driver is not loaded");
	if (code == NVML_VERSION_MISMATCH)
		return strbuf_fail(why, -EPROTO,
				   "its version differs from that of the loaded driver");
	strbuf_addstr(why, "cannot use it: ");
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
	int r = -ENOENT, code = NVML_CALL(n, FN_nvmlInit_v2, (void));
	if (code == NVML_SUCCESS)
		return 0;
	if (n->functions[FN_nvmlInit_v2])
		r = refuse(n, code, why);
	else
		strbuf_addf(why, "'%s' is not an NVIDIA driver library", path);
	dlclose(n->library);
	n->library = NULL;
	return r;
}

void nvml_close(struct nvml *n)
{
	if (!n->library)
		return;
	(void)NVML_CALL(n, FN_nvmlShutdown, (void));
	dlclose(n->library);
	n->library = NULL;
}
