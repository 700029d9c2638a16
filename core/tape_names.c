/* How values are called by all that show a tape. */
#include "core/io/bytes.h"
#include "core/tape_inside.h"

#include <string.h>

cp_label cp_label_of(const char *name) {
    cp_label text = {""};
    memcpy(text.s, name, cp_text_cut(name, strlen(name), sizeof text.s - 1));
    return text;
}

cp_label cp_value_label(const cp_tape *tape, int id) {
    cp_label text;
    if (tape->values[id]->name) return cp_label_of(tape->values[id]->name);
    snprintf(text.s, sizeof text.s, "%%%d", id);
    return text;
}

cp_label cp_input_label(const cp_tape *tape, const cp_node *node, int i) {
    if (node->ids[i] >= 0) return cp_value_label(tape, node->ids[i]);
    const cp_tensor *t = node->in[i];
    if (t->tape == tape && t->id >= 0) return cp_value_label(tape, t->id); /* a value that this op takes as a constant */
    return cp_label_of(t->name ? t->name : "constant");
}

bool cp_is_leaf(const cp_tape *tape, int id, int *node) {
    bool made = *node < tape->node_count && tape->nodes[*node]->out->id == id;
    *node += made;
    return !made;
}
