/* How values are called and told in a line, by all that show a tape. */
#include "core/tape_inside.h"

#include <math.h>

cp_label cp_value_label(const cp_tape *tape, int id) {
    cp_label text;
    if (tape->values[id]->name)
        snprintf(text.s, sizeof text.s, "%s", tape->values[id]->name);
    else
        snprintf(text.s, sizeof text.s, "%%%d", id);
    return text;
}

cp_label cp_input_label(const cp_tape *tape, const cp_node *node, int i) {
    if (node->ids[i] >= 0) return cp_value_label(tape, node->ids[i]);
    const cp_tensor *t = node->in[i];
    if (t->tape == tape && t->id >= 0) return cp_value_label(tape, t->id); /* a value that this op takes as a constant */
    cp_label text;
    snprintf(text.s, sizeof text.s, "%s", t->name ? t->name : "constant");
    return text;
}

bool cp_is_leaf(const cp_tape *tape, int id, int *node) {
    bool made = *node < tape->node_count && tape->nodes[*node]->out->id == id;
    *node += made;
    return !made;
}

enum { FEW = 6 }; /* values told one by one */

static void extremes(const cp_tensor *t, double *low, double *high, double *mean) {
    double sum = 0;
    *low = INFINITY, *high = -INFINITY;
    for (size_t i = 0; i < t->size; i++) {
        double value = (double)t->data[i];
        *low = value < *low || isnan(value) ? value : *low; /* a NaN stays, so that it is seen */
        *high = value > *high || isnan(value) ? value : *high;
        sum += value;
    }
    *mean = sum / (double)t->size;
}

cp_values_line cp_values_text(const cp_tensor *t) {
    cp_values_line line = {"given back"};
    double         low, high, mean;
    int            used = 0;
    if (!t->data) return line;
    *line.s = 0;
    if (t->size > FEW) {
        extremes(t, &low, &high, &mean);
        snprintf(line.s, sizeof line.s, "%.4g .. %.4g, mean %.4g", low, high, mean);
        return line;
    }
    for (size_t i = 0; i < t->size; i++)
        used += snprintf(line.s + used, sizeof line.s - (size_t)used, "%s%.4g", i ? " " : "", (double)t->data[i]);
    return line;
}
