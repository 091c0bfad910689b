/*
 * Readings of NVIDIA GPUs. Cheap values are read at every reading, expensive ones less often
 * (nvidia_rounds.c). Every value is read separately. A value that a GPU does not support is
 * reported once and not read again; one that we may not see is tried again every minute, since
 * access may be granted; any other failure leaves the value out of this one reading. A lost GPU is
 * tried once per reading, until it is back.
 */
#include "sources/gpu/nvidia.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* ---- results of a call ---- */

/* How often to try again what we may not see. */
#define REFUSED_NS 60000000000ull

/* Is it useless to try again, at least for now? */
static bool is_lasting(int code)
{
	switch (code) {
	case NVML_NOT_SUPPORTED:
	case NVML_NO_PERMISSION:
	case NVML_INVALID_ARGUMENT: /* of a driver that does not know the number yet */
	case NVML_FUNCTION_NOT_FOUND:
	case NVML_ARGUMENT_VERSION:
	case NVML_DEPRECATED:
		return true;
	default:
		return false;
	}
}

bool nvidia_wanted(const struct nvidia_reading *r, unsigned metric)
{
	return !r->lost && !(*r->without >> metric & 1);
}

static bool present(const struct nvidia_reading *r, unsigned metric)
{
	return r->set->rows[r->set->row_count - 1].present >> metric & 1;
}

void nvidia_excuse(struct nvidia_reading *r, unsigned metric, struct strbuf *text)
{
	struct nvidia_reason *reason = &r->v->reasons[metric];

	if (!reason->text && !reason->reported) {
		reason->text = strbuf_take(text);
		snprintf(reason->where, sizeof(reason->where), "%s", r->name);
	}
	strbuf_release(text);
}

void nvidia_lack(struct nvidia_reading *r, unsigned metric, const char *why)
{
	struct strbuf text = STRBUF_INIT;

	*r->without |= (uint64_t)1 << metric;
	strbuf_addstr(&text, why);
	nvidia_excuse(r, metric, &text);
}

bool nvidia_got(struct nvidia_reading *r, unsigned metric, enum nvml_function function, int code)
{
	struct strbuf text = STRBUF_INIT;

	if (code == NVML_SUCCESS)
		return true;
	if (code == NVML_GPU_IS_LOST)
		r->lost = true;
	if (!is_lasting(code))
		return false;
	*r->without |= (uint64_t)1 << metric;
	if (code == NVML_NO_PERMISSION)
		*r->refused |= (uint64_t)1 << metric;
	if (r->v->nvml.functions[function])
		nvml_add_error(&r->v->nvml, code, &text);
	else
		strbuf_addf(&text, "the NVIDIA library has no %s", nvml_function_name(function));
	nvidia_excuse(r, metric, &text);
	return false;
}

void nvidia_put(struct nvidia_reading *r, unsigned metric, uint64_t value)
{
	if (value <= INT64_MAX)
		sample_put(r->set, metric, (int64_t)value);
}

/* ---- calls with one value ---- */

enum form { FORM_U32, FORM_U32_OF, FORM_U64, FORM_FIRST, FORM_ECC, FORM_VIOLATION, FORM_BAR1 };

struct query {
	unsigned metric;
	enum nvml_function function;
	enum form form;
	unsigned a, b;
	unsigned most;  /* a higher number is invalid; 0: only all bits set is */
	bool expensive; /* read less often, see nvidia_rounds.c */
};

static const struct query queries[] = {
	{M_CLOCK_GRAPHICS, FN_nvmlDeviceGetClockInfo, FORM_U32_OF, NVML_CLOCK_GRAPHICS, 0, 0,
	 false},
	{M_CLOCK_SM, FN_nvmlDeviceGetClockInfo, FORM_U32_OF, NVML_CLOCK_SM, 0, 0, false},
	{M_CLOCK_MEMORY, FN_nvmlDeviceGetClockInfo, FORM_U32_OF, NVML_CLOCK_MEMORY, 0, 0, false},
	{M_CLOCK_VIDEO, FN_nvmlDeviceGetClockInfo, FORM_U32_OF, NVML_CLOCK_VIDEO, 0, 0, false},
	{M_ENCODER_UTIL, FN_nvmlDeviceGetEncoderUtilization, FORM_FIRST, 0, 0, 100, false},
	{M_DECODER_UTIL, FN_nvmlDeviceGetDecoderUtilization, FORM_FIRST, 0, 0, 100, false},
	{M_BAR1_USED, FN_nvmlDeviceGetBAR1MemoryInfo, FORM_BAR1, 0, 0, 0, true},
	{M_POWER, FN_nvmlDeviceGetPowerUsage, FORM_U32, 0, 0, 0, false},
	{M_ENERGY, FN_nvmlDeviceGetTotalEnergyConsumption, FORM_U64, 0, 0, 0, true},
	{M_TEMPERATURE, FN_nvmlDeviceGetTemperature, FORM_U32_OF, NVML_SENSOR_GPU, 0, 1000, false},
	{M_FAN_SPEED, FN_nvmlDeviceGetFanSpeed, FORM_U32, 0, 0, 0, true},
	{M_PERFORMANCE_STATE, FN_nvmlDeviceGetPerformanceState, FORM_U32, 0, 0, 15, false},
	{M_ECC_SINGLE, FN_nvmlDeviceGetTotalEccErrors, FORM_ECC, NVML_CORRECTED, NVML_VOLATILE, 0,
	 true},
	{M_ECC_DOUBLE, FN_nvmlDeviceGetTotalEccErrors, FORM_ECC, NVML_UNCORRECTED, NVML_VOLATILE, 0,
	 true},
	{M_ECC_SINGLE_AGGREGATE, FN_nvmlDeviceGetTotalEccErrors, FORM_ECC, NVML_CORRECTED,
	 NVML_AGGREGATE, 0, true},
	{M_ECC_DOUBLE_AGGREGATE, FN_nvmlDeviceGetTotalEccErrors, FORM_ECC, NVML_UNCORRECTED,
	 NVML_AGGREGATE, 0, true},
#define VIOLATION(name)                                                              \
	{                                                                            \
		M_VIOLATION_##name, FN_nvmlDeviceGetViolationStatus, FORM_VIOLATION, \
			NVML_POLICY_##name, 0, 0, true                               \
	}
	VIOLATION(POWER),
	VIOLATION(THERMAL),
	VIOLATION(SYNC_BOOST),
	VIOLATION(BOARD_LIMIT),
	VIOLATION(LOW_UTILIZATION),
	VIOLATION(RELIABILITY),
	VIOLATION(APP_CLOCKS),
	VIOLATION(BASE_CLOCKS),
#undef VIOLATION
	/* these take 20 ms each: last, and not where counters give the rate */
	{M_PCIE_TX, FN_nvmlDeviceGetPcieThroughput, FORM_U32_OF, NVML_PCIE_TX, 0, 0, true},
	{M_PCIE_RX, FN_nvmlDeviceGetPcieThroughput, FORM_U32_OF, NVML_PCIE_RX, 0, 0, true},
};

static int ask(const struct nvml *n, const struct query *q, nvml_device d, uint64_t *ret)
{
	struct nvml_violation violation = {0};
	struct nvml_bar1 bar1 = {0};
	unsigned narrow = UINT32_MAX, second = 0;
	int code = NVML_FUNCTION_NOT_FOUND;

#define CALL(types, ...) NVML_CALL(n, q->function, types, d, __VA_ARGS__)
	switch (q->form) {
	case FORM_U32:
		code = CALL((nvml_device, unsigned *), &narrow);
		break;
	case FORM_U32_OF:
		code = CALL((nvml_device, unsigned, unsigned *), q->a, &narrow);
		break;
	case FORM_FIRST:
		code = CALL((nvml_device, unsigned *, unsigned *), &narrow, &second);
		break;
	case FORM_U64:
		return CALL((nvml_device, uint64_t *), ret);
	case FORM_ECC:
		return CALL((nvml_device, unsigned, unsigned, uint64_t *), q->a, q->b, ret);
	case FORM_VIOLATION:
		code = CALL((nvml_device, unsigned, struct nvml_violation *), q->a, &violation);
		*ret = violation.violation_ns;
		return code;
	case FORM_BAR1:
		code = CALL((nvml_device, struct nvml_bar1 *), &bar1);
		*ret = bar1.used;
		return code;
	}
#undef CALL
	*ret = narrow == UINT32_MAX ? UINT64_MAX : narrow;
	return code;
}

static void read_query(struct nvidia_reading *r, const struct query *q)
{
	uint64_t value = UINT64_MAX;

	if (!nvidia_wanted(r, q->metric) || present(r, q->metric) ||
	    !nvidia_got(r, q->metric, q->function, ask(&r->v->nvml, q, r->device, &value)))
		return;
	if (!q->most || value <= q->most)
		nvidia_put(r, q->metric, value);
}

static void read_queries(struct nvidia_reading *r)
{
	for (const struct query *q = queries; q < queries + ARRAY_SIZE(queries); q++)
		if (!q->expensive)
			read_query(r, q);
}

/* ---- calls with several values ---- */

static void read_utilization(struct nvidia_reading *r)
{
	enum nvml_function function = FN_nvmlDeviceGetUtilizationRates;
	struct nvml_utilization u = {UINT32_MAX, UINT32_MAX};

	if (!nvidia_wanted(r, M_UTILIZATION_GPU))
		return;
	int code = NVML_CALL(&r->v->nvml, function, (nvml_device, struct nvml_utilization *),
			     r->device, &u);
	bool fine = nvidia_got(r, M_UTILIZATION_GPU, function, code);
	fine &= nvidia_got(r, M_UTILIZATION_MEMORY, function, code);
	if (fine && u.gpu <= 100)
		nvidia_put(r, M_UTILIZATION_GPU, u.gpu);
	if (fine && u.memory <= 100)
		nvidia_put(r, M_UTILIZATION_MEMORY, u.memory);
}

static void read_reasons(struct nvidia_reading *r)
{
	static const uint64_t held_down = NVML_REASON_POWER_CAP | NVML_REASON_HW_SLOWDOWN |
					  NVML_REASON_SYNC_BOOST | NVML_REASON_SW_THERMAL |
					  NVML_REASON_HW_THERMAL | NVML_REASON_POWER_BRAKE;
	enum nvml_function function = FN_nvmlDeviceGetCurrentClocksEventReasons;
	uint64_t mask = 0;

	if (!nvidia_wanted(r, M_THROTTLE_REASONS))
		return;
	int code = NVML_CALL(&r->v->nvml, function, (nvml_device, uint64_t *), r->device, &mask);
	bool fine = nvidia_got(r, M_THROTTLE_REASONS, function, code);
	fine &= nvidia_got(r, M_THROTTLED, function, code);
	if (!fine || mask > INT64_MAX)
		return;
	nvidia_put(r, M_THROTTLE_REASONS, mask);
	nvidia_put(r, M_THROTTLED, (mask & held_down) != 0);
}

/* The first form counts memory that the driver reserves as used. */
static int ask_memory(struct nvidia_reading *r, struct nvml_memory_v2 *m)
{
	const struct nvml *n = &r->v->nvml;
	struct nvml_memory old = {0};

	*m = (struct nvml_memory_v2){.version = NVML_MEMORY_V2};
	if (r->v->memory_function == FN_nvmlDeviceGetMemoryInfo_v2)
		return NVML_CALL(n, FN_nvmlDeviceGetMemoryInfo_v2,
				 (nvml_device, struct nvml_memory_v2 *), r->device, m);
	int code = NVML_CALL(n, FN_nvmlDeviceGetMemoryInfo, (nvml_device, struct nvml_memory *),
			     r->device, &old);
	*m = (struct nvml_memory_v2){
		.total = old.total, .free = old.free, .used = old.used, .reserved = UINT64_MAX};
	return code;
}

void nvidia_read_memory(struct nvidia_reading *r)
{
	struct nvml_memory_v2 m = {0};

	if (!nvidia_wanted(r, M_MEMORY_USED))
		return;
	int code = ask_memory(r, &m);
	if (r->v->memory_function == FN_nvmlDeviceGetMemoryInfo_v2 &&
	    (code == NVML_FUNCTION_NOT_FOUND || code == NVML_INVALID_ARGUMENT ||
	     code == NVML_ARGUMENT_VERSION)) {
		r->v->memory_function = FN_nvmlDeviceGetMemoryInfo;
		code = ask_memory(r, &m);
	}
	bool fine = true;
	for (unsigned metric = M_MEMORY_USED; metric <= M_MEMORY_RESERVED; metric++)
		fine &= nvidia_got(r, metric, r->v->memory_function, code);
	if (!fine)
		return;
	nvidia_put(r, M_MEMORY_USED, m.used);
	nvidia_put(r, M_MEMORY_FREE, m.free);
	nvidia_put(r, M_MEMORY_TOTAL, m.total);
	nvidia_put(r, M_MEMORY_RESERVED, m.reserved);
	sample_format_metadata(r->set, r->entity, "memory", "%llu", (unsigned long long)m.total);
	if (r->v->memory_function == FN_nvmlDeviceGetMemoryInfo &&
	    nvidia_wanted(r, M_MEMORY_RESERVED))
		nvidia_lack(r, M_MEMORY_RESERVED, "this driver counts it as used");
}

/* ---- field values: many in one call ---- */

static const struct field {
	unsigned metric;
	enum nvml_field_id id;
	uint32_t scope;
	bool expensive;
} fields[] = {
	{M_TEMPERATURE_MEMORY, NVML_FIELD_MEMORY_TEMPERATURE, 0, false},
	{M_POWER_INSTANT, NVML_FIELD_POWER_INSTANT, 0, false},
	{M_PCIE_TX_BYTES, NVML_FIELD_PCIE_TX_BYTES, 0, true},
	{M_PCIE_RX_BYTES, NVML_FIELD_PCIE_RX_BYTES, 0, true},
	{M_PCIE_REPLAYS, NVML_FIELD_PCIE_REPLAYS, 0, true},
	{M_NVLINK_TX, NVML_FIELD_NVLINK_TX, NVML_ALL_LINKS, true},
	{M_NVLINK_RX, NVML_FIELD_NVLINK_RX, NVML_ALL_LINKS, true},
	{M_NVLINK_CRC_ERRORS, NVML_FIELD_NVLINK_CRC_ERRORS, 0, true},
	{M_NVLINK_REPLAY_ERRORS, NVML_FIELD_NVLINK_REPLAY_ERRORS, 0, true},
	{M_NVLINK_RECOVERY_ERRORS, NVML_FIELD_NVLINK_RECOVERY_ERRORS, 0, true},
	{M_PAGES_RETIRED_SINGLE, NVML_FIELD_RETIRED_SINGLE, 0, true},
	{M_PAGES_RETIRED_DOUBLE, NVML_FIELD_RETIRED_DOUBLE, 0, true},
	{M_ROWS_REMAPPED_SINGLE, NVML_FIELD_REMAPPED_CORRECTED, 0, true},
	{M_ROWS_REMAPPED_DOUBLE, NVML_FIELD_REMAPPED_UNCORRECTED, 0, true},
};

/* All bits set: not a valid number. */
static uint64_t field_number(const struct nvml_field *f)
{
	switch (f->type) {
	case NVML_DOUBLE:
		return f->value.d >= 0 && f->value.d < 9e18 ? (uint64_t)round_i64(f->value.d)
							    : UINT64_MAX;
	case NVML_UNSIGNED_INT:
		return f->value.u32 == UINT32_MAX ? UINT64_MAX : f->value.u32;
	case NVML_UNSIGNED_SHORT:
		return f->value.u16;
	case NVML_SIGNED_INT:
		return f->value.i32 >= 0 ? (uint64_t)f->value.i32 : UINT64_MAX;
	case NVML_UNSIGNED_LONG:
	case NVML_UNSIGNED_LONG_LONG:
	case NVML_SIGNED_LONG_LONG:
		return f->value.u64; /* a negative one is out of range */
	default:
		return UINT64_MAX;
	}
}

/* A counter of bytes, and the rate since the last reading of it. */
static void put_traffic(struct nvidia_reading *r, const struct nvml_field *f, unsigned bytes,
			unsigned rate, struct nvidia_traffic *t)
{
	if (f->type == NVML_UNSIGNED_INT) {
		nvidia_lack(r, bytes,
			    "the driver's counter has 32 bits, which overflow within a second");
		return;
	}
	uint64_t before = t->bytes.total, number = field_number(f);
	int64_t elapsed = 0;
	t->rated = false;
	if (number > INT64_MAX)
		return;
	if (t->at_us > 0 && f->timestamp > t->at_us)
		elapsed = f->timestamp - t->at_us;
	uint64_t total = unwrap(&t->bytes, number, 0);
	t->at_us = f->timestamp;
	nvidia_put(r, bytes, total);
	if (elapsed <= 0 || total < before)
		return;
	t->rated = true;
	nvidia_put(r, rate, (uint64_t)((double)(total - before) / (double)elapsed * 1000));
}

static void put_field(struct nvidia_reading *r, struct nvidia_gpu *g, unsigned metric,
		      const struct nvml_field *f)
{
	uint64_t number = field_number(f);

	if (metric == M_PCIE_TX_BYTES)
		put_traffic(r, f, M_PCIE_TX_BYTES, M_PCIE_TX, &g->sent);
	else if (metric == M_PCIE_RX_BYTES)
		put_traffic(r, f, M_PCIE_RX_BYTES, M_PCIE_RX, &g->received);
	else if (metric != M_TEMPERATURE_MEMORY || number <= 1000)
		nvidia_put(r, metric, number);
}

static void read_fields(struct nvidia_reading *r, struct nvidia_gpu *g, bool expensive)
{
	enum nvml_function function = FN_nvmlDeviceGetFieldValues;
	struct nvml_field values[ARRAY_SIZE(fields)];
	unsigned of[ARRAY_SIZE(fields)];
	int count = 0;

	memset(values, 0, sizeof(values));
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (fields[i].expensive != expensive || !nvidia_wanted(r, fields[i].metric))
			continue;
		values[count].id = fields[i].id;
		values[count].scope = fields[i].scope;
		of[count++] = fields[i].metric;
	}
	if (!count)
		return;
	int code = NVML_CALL(&r->v->nvml, function, (nvml_device, int, struct nvml_field *),
			     r->device, count, values);
	for (int i = 0; i < count; i++)
		if (nvidia_got(r, of[i], function, code) &&
		    nvidia_got(r, of[i], function, (int)values[i].result))
			put_field(r, g, of[i], &values[i]);
}

/* ---- expensive values ---- */

/* The fields come first: where they give the rate, the slow call is not needed. */
size_t nvidia_expensive_count(void)
{
	return 1 + ARRAY_SIZE(queries);
}

bool nvidia_read_expensive(struct nvidia_reading *r, struct nvidia_gpu *g, size_t part, bool last)
{
	if (part == 0) {
		read_fields(r, g, true);
		return false;
	}
	const struct query *q = &queries[part - 1];
	bool throughput = q->function == FN_nvmlDeviceGetPcieThroughput;
	/* a rate measured after the end is useless */
	if (!q->expensive || (throughput && last) || (q->metric == M_PCIE_TX && g->sent.rated) ||
	    (q->metric == M_PCIE_RX && g->received.rated))
		return false;
	read_query(r, q);
	return q->metric == M_ENERGY;
}

/* ---- a reading ---- */

static void ask_again(struct nvidia_gpu *g, uint64_t now_ns)
{
	if (g->refused_ns && now_ns - g->refused_ns < REFUSED_NS)
		return;
	g->without &= ~g->refused;
	g->mig_without &= ~g->refused;
	g->refused = 0;
	g->refused_ns = now_ns;
}

static void read_gpu(struct nvidia *v, struct nvidia_gpu *g, struct sample_set *set)
{
	struct nvidia_reading r = {.v = v,
				   .set = set,
				   .device = g->device,
				   .entity = g->entity,
				   .name = g->name,
				   .without = &g->without,
				   .refused = &g->refused};
	_cleanup_strbuf_ struct strbuf state = STRBUF_INIT;
	struct nvidia_mig migs[MIG_MAX];

	ask_again(g, set->time_ns);
	read_utilization(&r);
	unsigned mig_count = r.lost ? 0 : nvidia_list_migs(v, g, migs);
	if (!mig_count) {
		nvidia_read_memory(&r);
		nvidia_read_processes(&r);
	}
	read_reasons(&r);
	read_fields(&r, g, false);
	read_queries(&r);
	nvidia_round_read(&r, g);
	if (r.lost)
		nvml_add_error(&v->nvml, NVML_GPU_IS_LOST, &state);
	sample_set_metadata(set, g->entity, "state", r.lost ? state.buf : NULL);
	nvidia_read_migs(v, g, set, migs, mig_count);
}

/* Reports new reasons for absence, with the GPU if it does not concern all of them. */
static void report_reasons(struct nvidia *v, struct sample_set *set)
{
	uint64_t somewhere = 0;

	for (size_t i = 0; i < set->row_count; i++)
		somewhere |= set->rows[i].present;
	for (unsigned m = 0; m < METRIC_COUNT; m++) {
		struct nvidia_reason *reason = &v->reasons[m];

		if (!reason->text)
			continue;
		if (somewhere >> m & 1)
			sample_absent(set, m, "not on %s: %s", reason->where, reason->text);
		else
			sample_absent(set, m, "%s", reason->text);
		free(reason->text);
		reason->text = NULL;
		reason->reported = true;
	}
}

int nvidia_read(void *state, struct sample_set *set)
{
	struct nvidia *v = state;
	bool any = false;

	nvidia_round_begin(v, set->time_ns);
	for (unsigned i = 0; i < v->gpu_count; i++) {
		struct nvidia_gpu *g = &v->gpus[i];

		sample_row(set, g->entity);
		if (nvidia_attach(v, g, set))
			read_gpu(v, g, set);
	}
	for (size_t i = 0; i < set->row_count; i++)
		any |= set->rows[i].present != 0;
	nvidia_round_end(v, set);
	report_reasons(v, set);
	return any ? 0 : -EIO;
}
