#include "sim/score/bias.h"

#include "engine/util/array.h"
#include "engine/util/text_pool.h"
#include "sim/score/student.h"

#include <math.h> /* INFINITY and fabs, which need no library */
#include <stdlib.h>
#include <string.h>

/* All values are kept and summed in order of size, so the sums do not depend on the order of the results. */
struct values {
    double *at;
    size_t count, room;
};
struct method {
    struct values errors, shares;
};

struct sim_bias_inside {
    struct strobe_text_pool names;
    struct method *methods; /* by number of the name */
    size_t count, room;
    struct sim_bias_method *answer;
    size_t answer_room;
};

void sim_bias_open(struct sim_bias *b)
{
    *b = (struct sim_bias){0};
}

void sim_bias_close(struct sim_bias *b)
{
    struct sim_bias_inside *in = b->inside;
    for (size_t i = 0; in && i < in->count; i++) {
        free(in->methods[i].errors.at);
        free(in->methods[i].shares.at);
    }
    if (in) {
        strobe_text_pool_free(&in->names);
        free(in->methods);
        free(in->answer);
    }
    free(in);
    sim_bias_open(b);
}

static bool add_value(struct values *v, double value)
{
    if (!strobe_array_reserve(&v->at, &v->room, v->count + 1))
        return false;
    v->at[v->count++] = value;
    return true;
}

static struct method *bias_method_of(struct sim_bias_inside *in, const char *name)
{
    uint32_t number = strobe_text_number(&in->names, name, strlen(name));
    if (number == UINT32_MAX || !strobe_array_reserve(&in->methods, &in->room, (size_t)number + 1))
        return NULL;
    if (number == in->count)
        in->methods[in->count++] = (struct method){0};
    return &in->methods[number];
}

enum strobe_status sim_bias_add(struct sim_bias *b, const struct sim_result *result)
{
    if (!b->inside && !(b->inside = calloc(1, sizeof *b->inside)))
        return STROBE_IO;
    for (size_t i = 0; i < result->method_count; i++) {
        const struct sim_result_method *r = &result->methods[i];
        struct method *m = bias_method_of(b->inside, r->name);
        if (!m || !add_value(&m->errors, r->claimed_self - r->true_self) || !add_value(&m->shares, r->true_self))
            return STROBE_IO;
    }
    b->results++;
    return STROBE_OK;
}

static double mean_of(struct values *v)
{
    double sum = 0;
    qsort(v->at, v->count, sizeof *v->at, sim_by_value);
    for (size_t i = 0; i < v->count; i++)
        sum += v->at[i];
    return sum / (double)v->count;
}

static struct sim_bias_method bias_sum_method(const char *name, struct method *m)
{
    size_t n = m->errors.count;
    struct sim_bias_method out = {.name = name,
                                  .seeds = n,
                                  .mean = mean_of(&m->errors),
                                  .half_width = INFINITY,
                                  .true_self = mean_of(&m->shares)};
    double squares = 0;
    for (size_t i = 0; i < n; i++)
        squares += (m->errors.at[i] - out.mean) * (m->errors.at[i] - out.mean);
    if (n > 1)
        out.half_width = sim_student_t(n) * sim_root(squares / (double)(n - 1) / (double)n);
    return out;
}

static int by_size(const void *left, const void *right)
{
    const struct sim_bias_method *a = left, *b = right;
    double size_a = fabs(a->mean), size_b = fabs(b->mean);
    if (size_a != size_b)
        return size_a > size_b ? -1 : 1;
    return strcmp(a->name, b->name);
}

size_t sim_bias_methods(struct sim_bias *b, const struct sim_bias_method **out)
{
    struct sim_bias_inside *in = b->inside;
    *out = NULL;
    if (!in || !in->count || !strobe_array_reserve(&in->answer, &in->answer_room, in->count))
        return 0;
    for (size_t i = 0; i < in->count; i++)
        in->answer[i] = bias_sum_method(in->names.texts[i], &in->methods[i]);
    qsort(in->answer, in->count, sizeof *in->answer, by_size);
    *out = in->answer;
    return in->count;
}

bool sim_bias_shows(const struct sim_bias_method *m, double beyond)
{
    return fabs(m->mean) - m->half_width > beyond;
}
