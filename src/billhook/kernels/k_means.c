#include "k_means.h"

#include "functions.h"

#include <math.h>

/* Vectors are taken in blocks of so many, value by value: a loop over them fills registers. The last is filled up. */
enum { BLOCK = 64, LANES = 8 };

typedef struct {
    size_t n_blocks;
    double *block;      /* (blocks, values, BLOCK) */
    double *weight;     /* of vectors, 0 of those that fill up */
    double *distance;   /* squared, of each vector to its nearest centre */
    double *candidate;  /* the same with one centre more */
    double *cumulative; /* weight times distance up to each vector */
    double *sum;        /* of the weights of each centre */
} Means;

static size_t blocks_of(const Clusters *clusters) { return (clusters->n_vectors + BLOCK - 1) / BLOCK; }

size_t k_means_scratch(const Clusters *clusters)
{
    const size_t n_blocks = blocks_of(clusters);
    return (n_blocks * BLOCK * (clusters->n_values + 4) + clusters->n_centres) * sizeof(double) + 64;
}

size_t find_nearest_scratch(const Clusters *clusters) { return clusters->n_values * BLOCK * sizeof(double); }

/* Copy one block of vectors, value by value. */
static void fill_block(const Clusters *clusters, size_t number, double *block)
{
    const size_t first = number * BLOCK, n_values = clusters->n_values;
    for (size_t r = 0; r < BLOCK; r++) {
        const double *vector = first + r < clusters->n_vectors ? clusters->vector + (first + r) * n_values : NULL;
        for (size_t c = 0; c < n_values; c++)
            block[c * BLOCK + r] = vector ? vector[c] : 0.0;
    }
}

INLINE double squared(double x) { return x * x; }

/* Write the squared distances of a block's vectors from a centre. */
INLINE void measure(const double *RESTRICT block, size_t n_values, const double *RESTRICT centre,
                    double *RESTRICT distance)
{
    size_t c = n_values % 4;
    for (size_t r = 0; r < BLOCK; r++) {
        double sum = c > 0 ? squared(block[r] - centre[0]) : 0.0;
        sum += c > 1 ? squared(block[BLOCK + r] - centre[1]) : 0.0;
        sum += c > 2 ? squared(block[2 * BLOCK + r] - centre[2]) : 0.0;
        distance[r] = sum;
    }
    for (; c < n_values; c += 4) {
        const double *RESTRICT x = block + c * BLOCK;
        const double a = centre[c], b = centre[c + 1], d = centre[c + 2], e = centre[c + 3];
        for (size_t r = 0; r < BLOCK; r++)
            distance[r] = distance[r] + squared(x[r] - a) + squared(x[r + BLOCK] - b) + squared(x[r + 2 * BLOCK] - d)
                          + squared(x[r + 3 * BLOCK] - e);
    }
}

/* Find the nearest of all centres for a block's vectors. */
INLINE void assign_block(const Clusters *clusters, const double *block, int64_t *RESTRICT nearest,
                         double *RESTRICT least)
{
    double distance[BLOCK];
    for (size_t r = 0; r < BLOCK; r++) {
        least[r] = HUGE_VAL;
        nearest[r] = 0;
    }
    for (size_t e = 0; e < clusters->n_centres; e++) {
        measure(block, clusters->n_values, clusters->centre + e * clusters->n_values, distance);
        for (size_t r = 0; r < BLOCK; r++) {
            nearest[r] = distance[r] < least[r] ? (int64_t)e : nearest[r];
            least[r] = distance[r] < least[r] ? distance[r] : least[r];
        }
    }
}

static size_t length_of_block(const Clusters *clusters, size_t number)
{
    const size_t left = clusters->n_vectors - number * BLOCK;
    return left < BLOCK ? left : BLOCK;
}

HOT void find_nearest(const Clusters *clusters, void *scratch)
{
    double *block = scratch, least[BLOCK];
    int64_t nearest[BLOCK];
    for (size_t i = 0; i < blocks_of(clusters); i++) {
        fill_block(clusters, i, block);
        assign_block(clusters, block, nearest, least);
        memcpy(clusters->nearest + i * BLOCK, nearest, length_of_block(clusters, i) * sizeof *nearest);
    }
}

/* Let all vectors take their nearest centre; return whether one takes another than before. */
HOT static int assign_all(const Clusters *clusters, const Means *m)
{
    int64_t nearest[BLOCK];
    int changes = 0;
    for (size_t i = 0; i < m->n_blocks; i++) {
        int64_t *before = clusters->nearest + i * BLOCK;
        const size_t n_bytes = length_of_block(clusters, i) * sizeof *nearest;
        assign_block(clusters, m->block + i * BLOCK * clusters->n_values, nearest, m->distance + i * BLOCK);
        changes |= memcmp(before, nearest, n_bytes) != 0;
        memcpy(before, nearest, n_bytes);
    }
    return changes;
}

/* Write the distances with one centre more; return their weighted sum. */
HOT static double add_candidate(const Clusters *clusters, const Means *m, const double *centre,
                                double *RESTRICT candidate)
{
    double distance[BLOCK], lane[LANES] = {0.0};
    for (size_t i = 0; i < m->n_blocks; i++) {
        const double *RESTRICT now = m->distance + i * BLOCK, *RESTRICT weight = m->weight + i * BLOCK;
        measure(m->block + i * BLOCK * clusters->n_values, clusters->n_values, centre, distance);
        for (size_t r = 0; r < BLOCK; r++)
            candidate[i * BLOCK + r] = smaller(now[r], distance[r]);
        for (size_t r = 0; r < BLOCK; r += LANES) {
            AT_ONCE
            for (size_t l = 0; l < LANES; l++)
                lane[l] += weight[r + l] * candidate[i * BLOCK + r + l];
        }
    }
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

/* Return a number from 0 to 1, less than 1. */
static double next_share(uint64_t *state) { return (double)(next_random(state) >> 11) * 0x1p-53; }

/* Return a vector: each with the chance that its part of the cumulative sums has. */
static size_t draw(const Clusters *clusters, const double *cumulative, uint64_t *random)
{
    const double at = next_share(random) * cumulative[clusters->n_vectors - 1];
    size_t low = 0, high = clusters->n_vectors - 1;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (cumulative[middle] > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Take vectors for centres, one after the other: of a few drawn by their distance from those there are, the one that
   leaves the least sum of distances (Arthur and Vassilvitskii 2007, greedy). */
static void start(const Clusters *clusters, Means *m, uint64_t *random)
{
    const size_t n_values = clusters->n_values, n_drawn = 2 + (size_t)log_of((double)clusters->n_centres);
    for (size_t e = 0; e < clusters->n_centres; e++) {
        double total = 0.0, least = HUGE_VAL;
        for (size_t i = 0; i < clusters->n_vectors; i++)
            m->cumulative[i] = total += e ? m->weight[i] * m->distance[i] : m->weight[i];
        size_t best = 0;
        for (size_t i = 0; i < (e ? n_drawn : 1); i++) {
            const size_t drawn = draw(clusters, m->cumulative, random);
            const double left = add_candidate(clusters, m, clusters->vector + drawn * n_values, m->candidate);
            if (left < least) {
                least = left;
                best = drawn;
            }
        }
        memcpy(clusters->centre + e * n_values, clusters->vector + best * n_values, n_values * sizeof(double));
        add_candidate(clusters, m, clusters->centre + e * n_values, m->candidate);
        double *before = m->distance;
        m->distance = m->candidate;
        m->candidate = before;
    }
}

/* Give a centre without vectors the one that is farthest, by its weight, from its own. */
static void fill_empty(const Clusters *clusters, Means *m, size_t centre)
{
    size_t farthest = 0;
    for (size_t i = 1; i < clusters->n_vectors; i++)
        if (m->weight[i] * m->distance[i] > m->weight[farthest] * m->distance[farthest])
            farthest = i;
    if (m->distance[farthest] > 0.0) {
        m->sum[clusters->nearest[farthest]] -= m->weight[farthest];
        clusters->nearest[farthest] = (int64_t)centre;
        m->sum[centre] = m->weight[farthest];
        m->distance[farthest] = 0.0;
    }
}

/* Make each centre the mean of its vectors. */
static void take_means(const Clusters *clusters, Means *m)
{
    const size_t n_values = clusters->n_values;
    double *RESTRICT centre = clusters->centre;
    memset(m->sum, 0, clusters->n_centres * sizeof(double));
    for (size_t i = 0; i < clusters->n_vectors; i++)
        m->sum[clusters->nearest[i]] += m->weight[i];
    for (size_t e = 0; e < clusters->n_centres; e++)
        if (m->sum[e] == 0.0)
            fill_empty(clusters, m, e);
    for (size_t e = 0; e < clusters->n_centres; e++)
        if (m->sum[e] > 0.0)
            memset(centre + e * n_values, 0, n_values * sizeof(double));
    for (size_t i = 0; i < clusters->n_vectors; i++)
        for (size_t c = 0; c < n_values; c++)
            centre[(size_t)clusters->nearest[i] * n_values + c] += m->weight[i] * clusters->vector[i * n_values + c];
    for (size_t e = 0; e < clusters->n_centres; e++)
        for (size_t c = 0; m->sum[e] > 0.0 && c < n_values; c++)
            centre[e * n_values + c] /= m->sum[e];
}

double k_means(const Clusters *clusters, const double *weight, uint64_t seed, size_t most_passes, void *scratch)
{
    Means m;
    const size_t n = blocks_of(clusters) * BLOCK;
    m.n_blocks = blocks_of(clusters);
    m.block = (double *)(((uintptr_t)scratch + 63) & ~(uintptr_t)63); /* a cache line */
    m.weight = m.block + n * clusters->n_values;
    m.distance = m.weight + n;
    m.candidate = m.distance + n;
    m.cumulative = m.candidate + n;
    m.sum = m.cumulative + n;
    for (size_t i = 0; i < n; i++) {
        m.weight[i] = i < clusters->n_vectors ? weight[i] : 0.0;
        m.distance[i] = HUGE_VAL;
    }
    for (size_t i = 0; i < m.n_blocks; i++)
        fill_block(clusters, i, m.block + i * BLOCK * clusters->n_values);
    start(clusters, &m, &seed);
    for (size_t i = 0; i < clusters->n_vectors; i++)
        clusters->nearest[i] = -1;
    for (size_t pass = 0; assign_all(clusters, &m) && pass < most_passes; pass++)
        take_means(clusters, &m);
    double inertia = 0.0;
    for (size_t i = 0; i < clusters->n_vectors; i++)
        inertia += m.weight[i] * m.distance[i];
    return inertia;
}
