#include "codebook_rows.h"

/* How often a step is tried, each time half as long, until the loss does not rise. */
enum { HALVINGS = 4 };
/* Rows whose leaves are looked up together: so many ids are a cache line. */
enum { ROWS_AT_ONCE = 32 };

/* The scratch of moving. Rows are those of one entry where it has no number of its own. */
typedef struct {
    size_t width;
    double *state;                      /* (rows, width) */
    double *n_leaves, *anchor_sum;      /* (entries), (entries, classes): of leaves with rows */
    double *slope, *bend;               /* width */
    double *label_slope;                /* (trees + 1, classes): what labels of rows that meet it so often add */
    double *label_bend;                 /* classes: what labels add to the curvature */
    double *step, *move;                /* (trees + 1, width): of rows that meet it so often */
    double *total;                      /* rows, filled up: sums of moved states, or by how much the loss rises */
} Moving;

static uintptr_t lay_out(const Codebook *book, uintptr_t at, Moving *m)
{
    const size_t width = width_of(book->n_classes);
    m->width = width;
    m->state = carve_doubles(&at, book->n_rows * width);
    m->n_leaves = carve_doubles(&at, book->n_entries);
    m->anchor_sum = carve_doubles(&at, book->n_entries * book->n_classes);
    m->slope = carve_doubles(&at, width);
    m->bend = carve_doubles(&at, width);
    m->label_slope = carve_doubles(&at, (book->n_trees + 1) * book->n_classes);
    m->label_bend = carve_doubles(&at, book->n_classes);
    m->step = carve_doubles(&at, (book->n_trees + 1) * width);
    m->move = carve_doubles(&at, (book->n_trees + 1) * width);
    m->total = carve_doubles(&at, book->n_rows + LANES);
    return at;
}

size_t move_scratch(const Codebook *book)
{
    Moving unused;
    return (size_t)lay_out(book, 64, &unused);
}

/* Where the next row of an entry goes, and the last row that met it. */
typedef struct {
    size_t end, last;
} EntryEnd;

size_t rows_by_entry_scratch(const Codebook *book)
{
    return book->n_entries * sizeof(EntryEnd) + ROWS_AT_ONCE * book->n_trees * sizeof(uint32_t);
}

/* Write the entries that some rows meet, (rows, trees). */
INLINE void look_up(const Codebook *book, const int is_wide, size_t from, size_t to, uint32_t *RESTRICT entry)
{
    for (size_t k = 0; k < book->n_trees; k++) {
        const int64_t *RESTRICT chosen = book->chosen + book->first[k];
        for (size_t n = from; n < to; n++)
            entry[(n - from) * book->n_trees + k] =
                (uint32_t)chosen[leaf_at(book->leaf.data, is_wide, k * book->n_rows + n)];
    }
}

static void look_up_entries(const Codebook *book, size_t from, size_t to, uint32_t *entry)
{
    if (book->leaf.is_wide)
        look_up(book, 1, from, to, entry);
    else
        look_up(book, 0, from, to, entry);
}

/* Count one row for the entries it meets; where `row` is not NULL, write it. Without branches: it meets most of them
   several times, and that cannot be foretold. */
INLINE void count_row(size_t n_trees, const uint32_t *entry, size_t n, EntryEnd *end, uint32_t *row, uint32_t *often)
{
    for (size_t k = 0; k < n_trees; k++) {
        EntryEnd *of = &end[entry[k]];
        const size_t is_new = of->last != n;
        of->end += is_new;
        of->last = n;
        if (row) {
            row[of->end - 1] = (uint32_t)n;
            often[of->end - 1] = is_new ? 1 : often[of->end - 1] + 1;
        }
    }
}

void rows_by_entry(const Codebook *book, RowsByEntry *rows, void *scratch)
{
    EntryEnd *end = scratch;
    uint32_t *entry = (uint32_t *)(end + book->n_entries);
    for (size_t e = 0; e < book->n_entries; e++) {
        end[e].end = rows->row ? rows->begin[e] : 0;
        end[e].last = SIZE_MAX;
    }
    for (size_t from = 0; from < book->n_rows; from += ROWS_AT_ONCE) {
        const size_t to = from + ROWS_AT_ONCE < book->n_rows ? from + ROWS_AT_ONCE : book->n_rows;
        look_up_entries(book, from, to, entry);
        for (size_t n = from; n < to; n++) {
            const uint32_t *of_row = entry + (n - from) * book->n_trees;
            if (rows->row)
                count_row(book->n_trees, of_row, n, end, rows->row, rows->often);
            else
                count_row(book->n_trees, of_row, n, end, NULL, NULL);
        }
    }
    if (rows->row)
        return;
    rows->begin[0] = 0;
    for (size_t e = 0; e < book->n_entries; e++)
        rows->begin[e + 1] = rows->begin[e] + end[e].end;
}

/* The rows that meet one entry. */
typedef struct {
    const uint32_t *row, *often;
    size_t n;
} Meeting;

INLINE void add_slopes(const int loss, double w, double w2, const double *RESTRICT s, double *RESTRICT slope,
                       double *RESTRICT bend, const size_t width)
{
    for (size_t c = 0; c < width; c++) {
        slope[c] += w * slope_of(loss, s[c]);
        bend[c] += w2 * curvature_of(loss, s[c]);
    }
}

INLINE void sum_slopes_of(const int loss, const Codebook *book, const Meeting *meeting, Moving *m, const size_t width)
{
    for (size_t i = 0; i < meeting->n; i++) {
        const size_t n = meeting->row[i], often = meeting->often[i], y = (size_t)book->label[n];
        const double w = book->weight[n] * (double)often, w2 = w * (double)often, *s = m->state + n * width;
        add_slopes(loss, w, w2, s, m->slope, m->bend, width);
        m->label_slope[often * book->n_classes + y] += w * slope_for_label(loss, s[y]);
        if (loss == SQUARED_HINGE)
            m->label_bend[y] += w2 * curvature_for_label(s[y]);
    }
}

/* Sum minus the slopes, and the curvatures, of the rows. */
HOT static void sum_slopes(const Codebook *book, const Meeting *meeting, Moving *m)
{
    if (book->loss == SQUARED)
        sum_slopes_of(SQUARED, book, meeting, m, m->width);
    else if (book->loss == SQUARED_HINGE)
        sum_slopes_of(SQUARED_HINGE, book, meeting, m, m->width);
    else
        WITH_WIDTH(m->width, sum_slopes_of, LOGISTIC, book, meeting, m)
}

INLINE void try_rows_of(const int loss, const Codebook *book, const Meeting *meeting, Moving *m, const size_t width)
{
    for (size_t i = 0; i < meeting->n; i++) {
        const size_t n = meeting->row[i], y = (size_t)book->label[n];
        const double *RESTRICT s = m->state + n * width, *RESTRICT by = m->move + meeting->often[i] * width;
        double lane[LANES] = {0.0};
        for (size_t c = 0; c < width; c += LANES)
            AT_ONCE
            for (size_t l = 0; l < LANES; l++)
                lane[l] += loss == LOGISTIC ? s[c + l] * by[c + l]
                                            : loss_of(loss, s[c + l] + by[c + l]) - loss_of(loss, s[c + l]);
        m->total[i] = sum_of_lanes(lane);
        if (loss != LOGISTIC)
            m->total[i] += loss_for_label(loss, s[y] + by[y]) - loss_for_label(loss, s[y]);
    }
}

/* Write for each row the sum of its moved state or, for other losses, by how much its loss rises. */
HOT static void try_rows(const Codebook *book, const Meeting *meeting, Moving *m)
{
    if (book->loss == SQUARED)
        try_rows_of(SQUARED, book, meeting, m, m->width);
    else if (book->loss == SQUARED_HINGE)
        try_rows_of(SQUARED_HINGE, book, meeting, m, m->width);
    else
        WITH_WIDTH(m->width, try_rows_of, LOGISTIC, book, meeting, m)
}

/* Return by how much the rows' losses rise, of cross-entropy without what the labels' scores change. */
HOT static double sum_rises(const Codebook *book, const Meeting *meeting, Moving *m, int even)
{
    double *RESTRICT total = m->total, lane[LANES] = {0.0};
    const double nothing = book->loss == LOGISTIC ? 1.0 : 0.0;
    for (size_t i = meeting->n; i < meeting->n + LANES; i++)
        total[i] = nothing;
    if (book->loss == LOGISTIC && even) {
        Products product;
        clear_products(&product);
        for (size_t i = 0; i < meeting->n; i += LANES)
            multiply(&product, total + i);
        AT_ONCE
        for (size_t l = 0; l < LANES; l++)
            lane[l] = book->weight[0] * log_of_product(&product, l);
        return sum_of_lanes(lane);
    }
    for (size_t i = 0; i < meeting->n; i += LANES) {
        double w[LANES];
        AT_ONCE
        for (size_t l = 0; l < LANES; l++)
            w[l] = i + l < meeting->n ? book->weight[meeting->row[i + l]] : 0.0;
        AT_ONCE
        for (size_t l = 0; l < LANES; l++)
            lane[l] += w[l] * (book->loss == LOGISTIC ? log_of(total[i + l]) : total[i + l]);
    }
    return sum_of_lanes(lane);
}

INLINE void move_rows_of(const int loss, const Meeting *meeting, Moving *m, const size_t width)
{
    for (size_t i = 0; i < meeting->n; i++) {
        double *RESTRICT s = m->state + meeting->row[i] * width;
        const double *RESTRICT by = m->move + meeting->often[i] * width;
        const double share = 1.0 / m->total[i];
        for (size_t c = 0; c < width; c++)
            s[c] = loss == LOGISTIC ? larger(s[c] * by[c] * share, TINY) : s[c] + by[c];
    }
}

HOT static void move_rows(const Codebook *book, const Meeting *meeting, Moving *m)
{
    if (book->loss != LOGISTIC)
        move_rows_of(SQUARED, meeting, m, m->width);
    else
        WITH_WIDTH(m->width, move_rows_of, LOGISTIC, meeting, m)
}

/* Write what the step does to rows that meet the entry once, twice and so on. */
HOT static void find_moves(const Codebook *book, Moving *m, size_t most)
{
    const double *first = m->step + m->width;
    for (size_t often = 1; often <= most; often++) {
        double *step = m->step + often * m->width, *move = m->move + often * m->width;
        for (size_t c = 0; c < m->width; c++)
            step[c] = first[c] * (double)often;
        for (size_t c = 0; c < m->width; c++)
            move[c] = move_of(book->loss, step[c]);
        if (book->loss == LOGISTIC)
            for (size_t c = book->n_classes; c < m->width; c++)
                move[c] = 0.0;
    }
}

/* Return by how much the objective rises with the step, and write what that does to the rows. */
static double try_step(const Codebook *book, const Meeting *meeting, Moving *m, size_t entry, size_t most, int even)
{
    const size_t n_classes = book->n_classes;
    double rises = 0.0;
    find_moves(book, m, most);
    for (size_t c = 0; c < n_classes; c++) {
        const double step = m->step[m->width + c], middle = book->entries[entry * n_classes + c] + 0.5 * step;
        rises += book->l2 * (m->n_leaves[entry] * middle - m->anchor_sum[entry * n_classes + c]) * step;
    }
    if (book->loss == LOGISTIC)
        for (size_t often = 1; often <= most; often++)
            for (size_t c = 0; c < n_classes; c++)
                rises -= m->label_slope[often * n_classes + c] * m->step[m->width + c];
    try_rows(book, meeting, m);
    return rises + sum_rises(book, meeting, m, even);
}

static size_t most_often(const Meeting *meeting)
{
    uint32_t most = 1;
    for (size_t i = 0; i < meeting->n; i++)
        most = meeting->often[i] > most ? meeting->often[i] : most;
    return most;
}

/* Write the Newton step of an entry. */
static void find_step(const Codebook *book, const Meeting *meeting, Moving *m, size_t entry, size_t most)
{
    const size_t n_classes = book->n_classes;
    const double k = (double)n_classes, factor = book->loss == LOGISTIC ? k / (k - 1.0) : 1.0;
    const double n_leaves = m->n_leaves[entry];
    memset(m->slope, 0, m->width * sizeof(double));
    memset(m->bend, 0, m->width * sizeof(double));
    memset(m->label_slope, 0, (most + 1) * n_classes * sizeof(double));
    memset(m->label_bend, 0, n_classes * sizeof(double));
    sum_slopes(book, meeting, m);
    for (size_t c = 0; c < m->width; c++)
        m->step[m->width + c] = 0.0;
    for (size_t c = 0; c < n_classes; c++) {
        const double away = m->anchor_sum[entry * n_classes + c] - n_leaves * book->entries[entry * n_classes + c];
        double slope = m->slope[c] + book->l2 * away;
        for (size_t often = 1; often <= most; often++)
            slope += m->label_slope[often * n_classes + c];
        const double bend = (m->bend[c] + m->label_bend[c]) * factor + book->l2 * n_leaves + FLOOR;
        m->step[m->width + c] = clamp(slope / bend, -book->largest, book->largest);
    }
}

/* What rounding an entry to the grid comes to. */
typedef enum { ROUNDS, WAS_ROUNDED, STAYS } Rounding;

static double to_grid(double x, const double *grid) { return clamp(rint(x / grid[0]), grid[1], grid[2]); }

/* Make the step one to the grid. */
static Rounding round_step(const Codebook *book, Moving *m, size_t entry, const double *grid)
{
    int was_rounded = 1, stays = 1;
    for (size_t c = 0; c < book->n_classes; c++) {
        const double *of_class = grid + 3 * c, now = book->entries[entry * book->n_classes + c];
        double *step = &m->step[m->width + c];
        was_rounded &= fabs(now / of_class[0] - to_grid(now, of_class)) < 1e-6;
        *step = to_grid(now + *step, of_class) * of_class[0] - now;
        stays &= *step == 0.0;
    }
    return stays ? STAYS : was_rounded ? WAS_ROUNDED : ROUNDS;
}

/* Halve the step until the objective does not rise; return whether it is to be taken. */
static int find_length(const Codebook *book, const Meeting *meeting, Moving *m, size_t entry, size_t most, int even)
{
    for (int i = 0; i < HALVINGS; i++) {
        if (try_step(book, meeting, m, entry, most, even) <= 0.0)
            return 1;
        for (size_t c = 0; c < m->width; c++)
            m->step[m->width + c] *= 0.5;
    }
    return 0;
}

static void move_entry(const Codebook *book, const Meeting *meeting, Moving *m, size_t entry, const double *grid,
                       int even)
{
    const size_t n_classes = book->n_classes, most = most_often(meeting);
    find_step(book, meeting, m, entry, most);
    if (grid == NULL) {
        if (!find_length(book, meeting, m, entry, most, even))
            return;
    } else {
        const Rounding rounding = round_step(book, m, entry, grid);
        if (rounding == STAYS || (try_step(book, meeting, m, entry, most, even) > 0.0 && rounding == WAS_ROUNDED))
            return;
    }
    for (size_t c = 0; c < n_classes; c++) {
        double *value = &book->entries[entry * n_classes + c];
        *value += m->step[m->width + c];
        /* Exactly on the grid: then a step that leads nowhere is one of 0. */
        if (grid != NULL)
            *value = to_grid(*value, grid + 3 * c) * grid[3 * c];
    }
    move_rows(book, meeting, m);
}

void move_entries(const Codebook *book, const RowsByEntry *rows, const double *grid, size_t n_passes, void *scratch)
{
    Moving m;
    lay_out(book, (uintptr_t)scratch, &m);
    const int even = is_even(book);
    const size_t n_classes = book->n_classes;
    widen(book, m.width, m.state);
    memset(m.n_leaves, 0, book->n_entries * sizeof(double));
    memset(m.anchor_sum, 0, book->n_entries * n_classes * sizeof(double));
    for (size_t i = 0; i < book->first[book->n_trees]; i++) {
        if (!book->used[i])
            continue;
        const size_t e = (size_t)book->chosen[i];
        m.n_leaves[e] += 1.0;
        for (size_t c = 0; c < n_classes; c++)
            m.anchor_sum[e * n_classes + c] += book->anchor[i * n_classes + c];
    }
    for (size_t pass = 0; pass < n_passes; pass++)
        for (size_t e = 0; e < book->n_entries; e++) {
            const Meeting meeting = {rows->row + rows->begin[e], rows->often + rows->begin[e],
                                     rows->begin[e + 1] - rows->begin[e]};
            move_entry(book, &meeting, &m, e, grid, even);
        }
    narrow(book, m.width, m.state);
}
