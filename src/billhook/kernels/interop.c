#include "interop.h"

static int comes_first(int32_t a, int32_t b, const double *gain)
{
    return gain[a] > gain[b] || (gain[a] == gain[b] && a < b);
}

/* Put `node` into the heap, from the free place upwards. */
static void rise(int32_t *heap, size_t place, int32_t node, const double *gain)
{
    while (place > 0 && comes_first(node, heap[(place - 1) / 2], gain)) {
        heap[place] = heap[(place - 1) / 2];
        place = (place - 1) / 2;
    }
    heap[place] = node;
}

/* Put `node` into a heap of `size` whose top is free, from there downwards. */
static void sink(int32_t *heap, size_t size, int32_t node, const double *gain)
{
    size_t place = 0;
    for (;;) {
        size_t child = 2 * place + 1;
        if (child >= size)
            break;
        if (child + 1 < size && comes_first(heap[child + 1], heap[child], gain))
            child++;
        if (!comes_first(heap[child], node, gain))
            break;
        heap[place] = heap[child];
        place = child;
    }
    heap[place] = node;
}

void rank_best_first(size_t n_nodes, const int32_t *left, const int32_t *right, const double *gain, int32_t *rank,
                     int32_t *heap)
{
    size_t size = 0;
    int32_t made = 0;
    for (size_t node = 0; node < n_nodes; node++)
        rank[node] = -1;
    if (n_nodes > 0 && left[0] >= 0)
        heap[size++] = 0;
    while (size > 0) {
        const int32_t node = heap[0];
        const int32_t children[2] = {left[node], right[node]};
        rank[node] = made++;
        size--;
        if (size > 0)
            sink(heap, size, heap[size], gain);
        for (int i = 0; i < 2; i++)
            if (left[children[i]] >= 0)
                rise(heap, size++, children[i], gain);
    }
}

void average_upwards(size_t n_nodes, size_t n_values, const int32_t *left, const int32_t *right,
                     const double *weight, double *value)
{
    for (size_t node = n_nodes; node-- > 0;) {
        if (left[node] < 0)
            continue;
        const size_t l = (size_t)left[node], r = (size_t)right[node];
        const double both = weight[l] + weight[r];
        const double share = both > 0.0 ? weight[l] / both : 0.5;
        for (size_t c = 0; c < n_values; c++)
            value[node * n_values + c] = share * value[l * n_values + c] + (1.0 - share) * value[r * n_values + c];
    }
}

ptrdiff_t find_elements(const uint8_t *text, size_t length, size_t start, int64_t *end, size_t room)
{
    size_t n = 0, depth = 0;
    int is_string = 0;
    for (size_t i = start; i < length; i++) {
        const uint8_t letter = text[i];
        if (is_string) {
            if (letter == '\\')
                i++;
            is_string = letter != '"';
            continue;
        }
        is_string = letter == '"';
        if (letter == '[' || letter == '{')
            depth++;
        const int closes = letter == ']' || letter == '}';
        if (depth == 0 && (closes || letter == ',')) {
            if (n < room)
                end[n] = (int64_t)i;
            n++;
            if (closes)
                return (ptrdiff_t)n;
        }
        depth -= (size_t)closes;
    }
    return -1;
}
