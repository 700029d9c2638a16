/* The list of methods, and what their losses share. */
#include "experiments/kit/train/method.h"

#include "core/op.h"

#include <math.h>
#include <string.h>

#define ADDRESS(name) &cp_method_##name,
static const cp_method *methods[CP_METHODS_MAX + 1] = {CP_METHODS(ADDRESS)};

#define NAME(name) "|" #name
char cp_method_names[256] = CP_METHODS(NAME);

bool(cp_method_add)(cp_at at, const cp_method *method) {
    int    count = 0, options = 0;
    size_t used = strlen(cp_method_names);
    if (!method || !method->name || !method->head || !method->loss)
        return cp_misuse(at, "method_add", "a method needs a name, a head and a loss");
    while (methods[count] && methods[count] != method) {
        if (strcmp(methods[count]->name, method->name) == 0)
            return cp_misuse(at, "method_add", "there is another method \"%s\"", method->name);
        count++;
    }
    if (methods[count]) return true;
    if (!*method->name || strpbrk(method->name, "|, =") || method->name[0] == '-')
        return cp_misuse(at, "method_add", "\"%s\" cannot be a word of the command line", method->name);
    for (const cp_option *o = method->options; o && o->name; o++, options++)
        if (o->kind != CP_OPTION_INT && o->kind != CP_OPTION_REAL && o->kind != CP_OPTION_FLAG)
            return cp_misuse(at, "method_add", "--%s of %s is neither a number nor a flag", o->name, method->name);
    if (options > CP_METHOD_OPTIONS)
        return cp_misuse(at, "method_add", "%s has %d options; %d are possible", method->name, options, CP_METHOD_OPTIONS);
    if (count == CP_METHODS_MAX || used + strlen(method->name) + 2 > sizeof cp_method_names)
        return cp_misuse(at, "method_add", "%s is one method too many", method->name);
    methods[count] = method;
    snprintf(cp_method_names + used, sizeof cp_method_names - used, "|%s", method->name);
    return true;
}

const cp_method *cp_method_at(int i) { return i >= 0 && i < CP_METHODS_MAX ? methods[i] : NULL; }

const cp_method *cp_method_find(const char *name) {
    const cp_method *const *method = methods;
    while (*method && strcmp((*method)->name, name) != 0) method++;
    return *method;
}

const char *cp_method_title(const cp_method *method) { return method->title ? method->title : method->name; }

static bool lists(const cp_method *method, const char *option) {
    for (const cp_option *o = method->options; o && o->name; o++)
        if (strcmp(o->name, option) == 0) return true;
    return cp_choice_find(method->reads, option) >= 0;
}

bool cp_method_reads(const cp_method *method, const char *option) {
    if (lists(method, option)) return true;
    for (const cp_method *const *other = methods; *other; other++)
        if (lists(*other, option)) return false;
    return true;
}

const cp_option *cp_method_option(int i) {
    for (const cp_method *const *method = methods; *method; method++)
        for (const cp_option *o = (*method)->options; o && o->name; o++)
            if (i-- == 0) return o;
    return NULL;
}

/* ---- the loss ---- */

cp_tensor *(cp_method_cross_entropy)(cp_at at, const cp_model *model, const cp_objective_batch *b, cp_mode mode,
                                     cp_tensor **features, cp_objective_terms *terms) {
    cp_tensor *x = (cp_constant_of)(at, b->labeled);
    cp_tensor *z = (cp_net_forward)(at, model->net, x, mode);
    cp_tensor *loss = (cp_cross_entropy)(at, (cp_head_logits)(at, model->head, z), b->labels);
    if (features) *features = z;
    if (loss) terms->cross_entropy = cp_item(loss);
    return loss;
}

cp_tensor *(cp_method_add_guesses)(cp_at at, cp_tensor *loss, const cp_objective *o, const cp_model *model,
                                   const cp_objective_batch *b, cp_objective_terms *terms) {
    if (!loss || !b->augmented || o->pseudo == 0) return loss;
    int      n = b->guesses.count, confident = 0;
    int     *labels = cp_tape_alloc(at, (size_t)n * sizeof *labels);
    cp_real *mask = cp_tape_alloc(at, (size_t)n * sizeof *mask);
    if (!labels || !mask) return NULL;
    for (int i = 0; i < n; i++) {
        labels[i] = b->guesses.at[i] < 0 ? 0 : b->guesses.at[i];
        mask[i] = b->guesses.at[i] < 0 ? 0 : 1;
        confident += b->guesses.at[i] >= 0;
    }
    terms->guessed = (double)confident / n;
    if (confident == 0) return loss;
    cp_tensor *x = (cp_constant_of)(at, b->augmented);
    cp_tensor *logp = (cp_log_softmax)(at, (cp_model_logits)(at, model, x, CP_EVALUATION), 1);
    cp_tensor *of_guess = (cp_pick)(at, logp, (cp_labels){labels, n});
    cp_tensor *kept = (cp_mul)(at, of_guess, (cp_constant)(at, mask, CP_SHAPE(n)));
    return (cp_add)(at, loss, (cp_scale)(at, (cp_mean)(at, kept, CP_ALL, false), (cp_real)-o->pseudo));
}

cp_tensor *(cp_method_loss)(cp_at at, const cp_method *method, const cp_objective *objective, const cp_model *model,
                            const cp_objective_batch *b, cp_objective_terms *terms) {
    cp_objective_terms unused;
    if (!terms) terms = &unused;
    *terms = (cp_objective_terms){NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NULL};
    if (!method || !objective || !model || !b || !b->labeled)
        return cp_refuse(at, "method_loss", "the method, its weights, the model or the labeled images are NULL");
    if ((method->unlabeled && !b->unlabeled) || (method->samples && !b->samples))
        return cp_refuse(at, "method_loss", "the method %s needs unlabeled images%s", method->name,
                         method->samples ? " and samples" : "");
    cp_tensor *loss = method->loss(at, objective, model, b, terms);
    if (loss) terms->loss = cp_item(loss);
    return loss;
}
