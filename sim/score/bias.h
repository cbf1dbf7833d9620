/* Bias: the error of a sampler that remains when random error is averaged away. For each method it is the mean over
 * seeds of the signed error of self time (reconstructed minus true, as a share of the run's thread time), with the 95 %
 * confidence interval of that mean by Student's t. Sampling that is not random in time shows as bias however long the
 * run is (Mytkowicz, Diwan, Hauswirth, Sweeney, "Evaluating the accuracy of Java profilers", PLDI 2010). Methods are
 * identified by name. Allocates. */
#ifndef STROBE_SIM_SCORE_BIAS_H
#define STROBE_SIM_SCORE_BIAS_H

#include "sim/score/result.h"

struct sim_bias_method {
    const char *name;
    uint64_t seeds;    /* results that had the method */
    double mean;       /* share of thread time: 0.01 is a point */
    double half_width; /* of the 95 % interval around the mean; infinite for one seed */
    double true_self;  /* mean share */
};

struct sim_bias {
    struct sim_bias_inside *inside;
    uint64_t results;
};

void sim_bias_open(struct sim_bias *b);
void sim_bias_close(struct sim_bias *b);
enum strobe_status sim_bias_add(struct sim_bias *b, const struct sim_result *result);

/* Returns all methods, the largest |mean| first (ties by name). The list is valid until the next call on b. */
size_t sim_bias_methods(struct sim_bias *b, const struct sim_bias_method **out);

/* True when the interval lies wholly outside of -beyond .. +beyond: the bias is not explained by chance. */
bool sim_bias_shows(const struct sim_bias_method *m, double beyond);

#endif
