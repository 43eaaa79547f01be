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

/* Read a number at `*place`; return whether it is whole. */
static int read_varint(const uint8_t *data, size_t length, size_t *place, uint64_t *number)
{
    *number = 0;
    for (size_t i = *place; i < length && i < *place + 10; i++) {
        *number |= (uint64_t)(data[i] & 127) << (7 * (i - *place));
        if (data[i] < 128) {
            *place = i + 1;
            return 1;
        }
    }
    return 0;
}

size_t read_fields(const uint8_t *data, size_t length, size_t *place, uint16_t tag, int64_t *number, size_t room)
{
    const int has_bytes = (tag & 7) == 2;
    const size_t each = has_bytes ? 2 : 1;
    size_t n = 0;
    while (*place < length && (room == 0 || (n + 1) * each <= room)) {
        size_t i = *place;
        uint64_t found;
        if (tag != 0) {
            if (data[i++] != (tag > 127 ? 128 | (tag & 127) : tag))
                break;
            if (tag > 127 && (i == length || data[i++] != tag >> 7))
                break;
        }
        if (!read_varint(data, length, &i, &found) || (has_bytes && found > length - i))
            break;
        if (room != 0)
            number[n * each] = has_bytes ? (int64_t)i : (int64_t)found;
        if (has_bytes)
            i += (size_t)found;
        if (has_bytes && room != 0)
            number[n * each + 1] = (int64_t)i;
        *place = i;
        n++;
    }
    return n;
}
