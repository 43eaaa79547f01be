#include "codebook_rows.h"
#include "four.h"

/* Of each leaf of a tree. What depends on the entries tried has LANES numbers; unused ones repeat the first. */
typedef struct {
    size_t width;
    double *state;                      /* (rows, width) */
    uint32_t *leaf;                     /* of each row in this tree */
    double *slope, *bend;               /* (leaves, width) */
    double *label_slope, *label_bend;   /* (leaves, width): what labels add to them */
    double *step, *move;                /* (leaves, classes, LANES): to entries tried, and what it does to states */
    double *by;                         /* (leaves, width): the move to the entry that is taken */
    double *losses;                     /* (leaves, LANES) */
    Products *product;                  /* (leaves): of the sums of moved states */
    int64_t *tried;                     /* (leaves, LANES) */
    double *column, *target, *distance; /* entries by class; where a step leads; how far entries are from there */
} Choosing;

static size_t most_leaves(const Codebook *book)
{
    size_t most = 1;
    for (size_t k = 0; k < book->n_trees; k++)
        if (book->first[k + 1] - book->first[k] > most)
            most = (size_t)(book->first[k + 1] - book->first[k]);
    return most;
}

static uintptr_t lay_out(const Codebook *book, uintptr_t at, Choosing *c)
{
    const size_t width = width_of(book->n_classes), most = most_leaves(book);
    c->width = width;
    c->state = carve_doubles(&at, book->n_rows * width);
    c->leaf = carve(&at, book->n_rows * sizeof *c->leaf);
    c->slope = carve_doubles(&at, most * width);
    c->bend = carve_doubles(&at, most * width);
    c->label_slope = carve_doubles(&at, most * width);
    c->label_bend = carve_doubles(&at, most * width);
    c->step = carve_doubles(&at, most * book->n_classes * LANES);
    c->move = carve_doubles(&at, most * book->n_classes * LANES);
    c->by = carve_doubles(&at, most * width);
    c->losses = carve_doubles(&at, most * LANES);
    c->product = carve(&at, most * sizeof *c->product);
    c->tried = carve(&at, most * LANES * sizeof *c->tried);
    c->column = carve_doubles(&at, book->n_entries * book->n_classes);
    c->target = carve_doubles(&at, book->n_classes);
    c->distance = carve_doubles(&at, book->n_entries);
    return at;
}

size_t choose_scratch(const Codebook *book)
{
    Choosing unused;
    return (size_t)lay_out(book, 64, &unused);
}

static void find_leaves_of(const Codebook *book, size_t tree, uint32_t *leaf)
{
    for (size_t n = 0; n < book->n_rows; n++)
        leaf[n] = (uint32_t)leaf_at(book->leaf.data, book->leaf.is_wide, tree * book->n_rows + n);
}

/* Add to one row's state what its leaf came to. */
INLINE void move_row(const int loss, double *RESTRICT s, const double *RESTRICT by, const size_t width)
{
    if (loss != LOGISTIC) {
        for (size_t c = 0; c < width; c++)
            s[c] += by[c];
        return;
    }
    double lane[LANES] = {0.0};
    for (size_t c = 0; c < width; c += LANES)
        AT_ONCE
        for (size_t l = 0; l < LANES; l++) {
            s[c + l] *= by[c + l];
            lane[l] += s[c + l];
        }
    const double share = 1.0 / sum_of_lanes(lane);
    for (size_t c = 0; c < width; c++)
        s[c] = larger(s[c] * share, TINY);
}

/* Add minus the slopes, and the curvatures, of one row to those of its leaf. */
INLINE void add_slopes(const int loss, double w, const double *RESTRICT s, double *RESTRICT slope,
                       double *RESTRICT bend, const size_t width)
{
    for (size_t c = 0; c < width; c++) {
        slope[c] += w * slope_of(loss, s[c]);
        bend[c] += w * curvature_of(loss, s[c]);
    }
}

INLINE void sum_slopes_of(const int loss, const Codebook *book, Choosing *c, const size_t width)
{
    for (size_t n = 0; n < book->n_rows; n++) {
        const size_t at = c->leaf[n] * width, label = (size_t)book->label[n];
        const double w = book->weight[n], *s = c->state + n * width;
        add_slopes(loss, w, s, c->slope + at, c->bend + at, width);
        c->label_slope[at + label] += w * slope_for_label(loss, s[label]);
        if (loss == SQUARED_HINGE)
            c->label_bend[at + label] += w * curvature_for_label(s[label]);
    }
}

/* Sum minus the slopes, and the curvatures, of each leaf's rows. */
HOT static void sum_slopes(const Codebook *book, Choosing *c)
{
    if (book->loss == SQUARED)
        sum_slopes_of(SQUARED, book, c, c->width);
    else if (book->loss == SQUARED_HINGE)
        sum_slopes_of(SQUARED_HINGE, book, c, c->width);
    else
        WITH_WIDTH(c->width, sum_slopes_of, LOGISTIC, book, c)
}

INLINE void move_rows_of(const int loss, const Codebook *book, Choosing *c, const size_t width)
{
    for (size_t n = 0; n < book->n_rows; n++)
        move_row(loss, c->state + n * width, c->by + c->leaf[n] * width, width);
}

HOT static void move_rows(const Codebook *book, Choosing *c)
{
    if (book->loss != LOGISTIC)
        move_rows_of(SQUARED, book, c, c->width);
    else
        WITH_WIDTH(c->width, move_rows_of, LOGISTIC, book, c)
}

/* Write where the step of a leaf leads, class by class, and by what distances from there count. */
static void find_target(const Codebook *book, const Choosing *c, size_t leaf, size_t at, const double *table)
{
    const double k = (double)book->n_classes, factor = book->loss == LOGISTIC ? k / (k - 1.0) : 1.0;
    const double *value = table + at * book->n_classes, *anchor = book->anchor + at * book->n_classes;
    for (size_t i = 0; i < book->n_classes; i++) {
        double *bend = &c->bend[leaf * c->width + i];
        c->target[i] = anchor[i];
        if (!book->used[at]) {
            *bend = 1.0;
            continue;
        }
        const double slope = c->slope[leaf * c->width + i] + c->label_slope[leaf * c->width + i];
        *bend = (*bend + c->label_bend[leaf * c->width + i]) * factor + book->l2 + FLOOR;
        const double wanted = (slope - book->l2 * (value[i] - anchor[i])) / *bend;
        c->target[i] = value[i] + clamp(wanted, -book->largest, book->largest);
    }
}

/* Write the sum of curvature times squared distance to the target of each entry. */
HOT static void measure_entries(const Codebook *book, const Choosing *c, const double *bend)
{
    double *RESTRICT distance = c->distance;
    for (size_t e = 0; e < book->n_entries; e++)
        distance[e] = 0.0;
    for (size_t i = 0; i < book->n_classes; i++) {
        const double *RESTRICT column = c->column + i * book->n_entries;
        const double target = c->target[i], by = bend[i];
        for (size_t e = 0; e < book->n_entries; e++)
            distance[e] += by * ((target - column[e]) * (target - column[e]));
    }
}

/* Write the entries with the least distances, the nearest first, the first of equals. */
static void take_nearest(size_t n_entries, const double *distance, size_t n_tried, int64_t *tried)
{
    double least[MOST_TRIED];
    const size_t last = n_tried - 1;
    for (size_t j = 0; j < n_tried; j++) {
        least[j] = HUGE_VAL;
        tried[j] = 0;
    }
    for (size_t e = 0; e < n_entries; e++) {
        if (!(distance[e] < least[last]))
            continue;
        size_t at = last;
        for (; at > 0 && distance[e] < least[at - 1]; at--) {
            least[at] = least[at - 1];
            tried[at] = tried[at - 1];
        }
        least[at] = distance[e];
        tried[at] = (int64_t)e;
    }
}

/* Write which entries a leaf tries, the steps to them, and what these do to the state and to the penalty. */
HOT static void try_entries(const Codebook *book, const Choosing *c, size_t leaf, size_t at, const double *table,
                            size_t n_tried)
{
    const size_t n_classes = book->n_classes;
    int64_t *tried = c->tried + leaf * LANES;
    double *losses = c->losses + leaf * LANES;
    find_target(book, c, leaf, at, table);
    measure_entries(book, c, c->bend + leaf * c->width);
    take_nearest(book->n_entries, c->distance, book->used[at] ? n_tried : 1, tried);
    for (size_t j = book->used[at] ? n_tried : 1; j < LANES; j++)
        tried[j] = tried[0];
    if (book->used[at] && book->chosen[at] >= 0)
        tried[n_tried] = book->chosen[at];
    AT_ONCE
    for (size_t j = 0; j < LANES; j++)
        losses[j] = 0.0;
    for (size_t i = 0; i < n_classes; i++) {
        const double value = table[at * n_classes + i], anchor = book->anchor[at * n_classes + i];
        /* Of cross-entropy, what labels add to the slope is the weight of their rows. */
        const double of_label = c->label_slope[leaf * c->width + i];
        double *step = c->step + (leaf * n_classes + i) * LANES, *move = c->move + (leaf * n_classes + i) * LANES;
        AT_ONCE
        for (size_t j = 0; j < LANES; j++) {
            const double entry = c->column[i * book->n_entries + (size_t)tried[j]];
            step[j] = book->loss == LOGISTIC ? clamp(entry - value, -FAR_AWAY, FAR_AWAY) : entry - value;
            losses[j] += 0.5 * book->l2 * ((entry - anchor) * (entry - anchor));
        }
        AT_ONCE
        for (size_t j = 0; j < LANES; j++)
            move[j] = book->loss == LOGISTIC ? exp_of(step[j]) : step[j];
        if (book->loss == LOGISTIC)
            AT_ONCE
            for (size_t j = 0; j < LANES; j++)
                losses[j] -= of_label * step[j];
    }
    clear_products(&c->product[leaf]);
}

/* Write the sum of one row's moved state for each entry tried: of cross-entropy, in registers. */
INLINE void try_probabilities(size_t n_classes, const double *RESTRICT s, const double *RESTRICT move,
                              double *RESTRICT total)
{
    EightDoubles by, sum;
    LOAD_8(by, move);
    sum = TIMES_8(EACH_8(s[0]), by);
    for (size_t i = 1; i < n_classes; i++) {
        LOAD_8(by, move + i * LANES);
        sum = PLUS_8(sum, TIMES_8(EACH_8(s[i]), by));
    }
    STORE_8(sum, total);
}

/* Write the loss of one row for each entry tried, of the other losses. */
INLINE void try_scores(const int loss, size_t n_classes, const double *RESTRICT s, size_t label,
                       const double *RESTRICT move, double *RESTRICT total)
{
    AT_ONCE
    for (size_t j = 0; j < LANES; j++)
        total[j] = loss_of(loss, s[0] + move[j]);
    for (size_t i = 1; i < n_classes; i++)
        AT_ONCE
        for (size_t j = 0; j < LANES; j++)
            total[j] += loss_of(loss, s[i] + move[i * LANES + j]);
    for (size_t j = 0; j < LANES; j++)
        total[j] += loss_for_label(loss, s[label] + move[label * LANES + j]);
}

INLINE void try_row(const int loss, size_t n_classes, const double *RESTRICT s, size_t label,
                    const double *RESTRICT move, double *RESTRICT total)
{
    if (loss == LOGISTIC)
        try_probabilities(n_classes, s, move, total);
    else
        try_scores(loss, n_classes, s, label, move, total);
}

INLINE void add_losses_of(const int loss, const int even, const Codebook *book, Choosing *c)
{
    const size_t n_classes = book->n_classes;
    for (size_t n = 0; n < book->n_rows; n++) {
        const size_t leaf = c->leaf[n];
        double total[LANES], *RESTRICT losses = c->losses + leaf * LANES;
        try_row(loss, n_classes, c->state + n * c->width, book->label[n], c->move + leaf * n_classes * LANES, total);
        if (even)
            multiply(&c->product[leaf], total);
        else
            AT_ONCE
            for (size_t j = 0; j < LANES; j++)
                losses[j] += book->weight[n] * (loss == LOGISTIC ? log_of(total[j]) : total[j]);
    }
}

/* Add the losses of the rows to what each entry tried costs. */
HOT static void add_losses(const Codebook *book, Choosing *c, size_t n_leaves, int even)
{
    if (book->loss == SQUARED)
        add_losses_of(SQUARED, 0, book, c);
    else if (book->loss == SQUARED_HINGE)
        add_losses_of(SQUARED_HINGE, 0, book, c);
    else if (!even)
        add_losses_of(LOGISTIC, 0, book, c);
    else {
        add_losses_of(LOGISTIC, 1, book, c);
        for (size_t leaf = 0; leaf < n_leaves; leaf++)
            AT_ONCE
            for (size_t j = 0; j < LANES; j++)
                c->losses[leaf * LANES + j] += book->weight[0] * log_of_product(&c->product[leaf], j);
    }
}

static void take_best(const Codebook *book, const Choosing *c, size_t leaf, size_t at, double *table)
{
    const size_t n_classes = book->n_classes;
    const double *losses = c->losses + leaf * LANES;
    size_t best = 0;
    for (size_t j = 1; j < LANES; j++)
        if (losses[j] < losses[best])
            best = j;
    book->chosen[at] = c->tried[leaf * LANES + best];
    for (size_t i = 0; i < n_classes; i++) {
        table[at * n_classes + i] = book->entries[(size_t)book->chosen[at] * n_classes + i];
        c->by[leaf * c->width + i] = c->move[(leaf * n_classes + i) * LANES + best];
    }
    for (size_t i = n_classes; i < c->width; i++)
        c->by[leaf * c->width + i] = 0.0;
}

void choose_entries(const Codebook *book, double *table, size_t n_tried, void *scratch)
{
    Choosing c;
    lay_out(book, (uintptr_t)scratch, &c);
    const int even = is_even(book);
    widen(book, c.width, c.state);
    for (size_t e = 0; e < book->n_entries; e++)
        for (size_t i = 0; i < book->n_classes; i++)
            c.column[i * book->n_entries + e] = book->entries[e * book->n_classes + i];
    for (size_t k = 0; k < book->n_trees; k++) {
        const size_t begin = (size_t)book->first[k], n_leaves = (size_t)book->first[k + 1] - begin;
        double *sums[] = {c.slope, c.bend, c.label_slope, c.label_bend};
        for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++)
            memset(sums[i], 0, n_leaves * c.width * sizeof(double));
        find_leaves_of(book, k, c.leaf);
        sum_slopes(book, &c);
        for (size_t i = 0; i < n_leaves; i++)
            try_entries(book, &c, i, begin + i, table, n_tried);
        add_losses(book, &c, n_leaves, even);
        for (size_t i = 0; i < n_leaves; i++)
            take_best(book, &c, i, begin + i, table);
        move_rows(book, &c);
    }
    narrow(book, c.width, c.state);
}
