/* Weighted k-means: Lloyd's algorithm from a greedy k-means++ start; the same bits on every platform. */

#ifndef BILLHOOK_K_MEANS_H
#define BILLHOOK_K_MEANS_H

#include "kernels.h"

/* Vectors (n_vectors, n_values), and centres (n_centres, n_values). */
typedef struct {
    size_t n_vectors, n_values, n_centres;
    const double *vector;
    double *centre;
    int64_t *nearest; /* the centre of each vector, the first of equals */
} Clusters;

/* Write centres and the nearest of each vector; return the weighted sum of squared distances.

   It ends where each centre is the mean of its vectors, or after `most_passes`. Weights are positive. `scratch` has
   `k_means_scratch` bytes. */
double k_means(const Clusters *clusters, const double *weight, uint64_t seed, size_t most_passes, void *scratch);
size_t k_means_scratch(const Clusters *clusters);

/* Write the nearest centre of each vector. `scratch` has `find_nearest_scratch` bytes. */
void find_nearest(const Clusters *clusters, void *scratch);
size_t find_nearest_scratch(const Clusters *clusters);

#endif
