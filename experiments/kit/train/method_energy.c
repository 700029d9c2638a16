/* The methods jem and hybrid: a classifier that is a density of the images too. */
#include "experiments/kit/train/method.h"

static cp_tensor *mean(cp_at at, cp_tensor *a) { return (cp_mean)(at, a, CP_ALL, false); }

static cp_tensor *add_scaled(cp_at at, cp_tensor *loss, double weight, cp_tensor *term) {
    return weight == 0 ? loss : (cp_add)(at, loss, (cp_scale)(at, term, (cp_real)weight));
}

/* What the energy terms need of a batch of images. */
typedef struct energies {
    cp_tensor *by_class; /* (N, C) */
    cp_tensor *total;    /* (N) */
    cp_tensor *slopes;   /* (N): |dE/dx|^2; NULL when it is not asked for */
} energies;

static energies energies_at(cp_at at, const cp_model *model, const cp_tensor *images, bool slopes) {
    cp_tensor *x = (cp_variable_of)(at, images);
    energies   e = {.by_class = (cp_model_class_energy)(at, model, x, CP_EVALUATION)};
    e.total = (cp_neg)(at, (cp_logsumexp)(at, (cp_neg)(at, e.by_class), CP_AXES(1), false));
    if (slopes) e.slopes = (cp_gradient_squares)(at, e.total, x);
    return e;
}

/* E(x_u) - E(x'), of the hybrid also E(x_l; c) - E(x'); z are the features of the labeled images. */
static cp_tensor *energy_terms(cp_at at, const cp_objective *o, const cp_model *model, const cp_objective_batch *b, cp_tensor *z,
                               bool of_labeled, const energies *data, const energies *samples) {
    cp_tensor *terms = (cp_sub)(at, mean(at, data->total), mean(at, samples->total));
    if (!of_labeled) return terms;
    cp_tensor *of_class = (cp_pick)(at, (cp_head_class_energy)(at, model->head, z), b->labels);
    cp_tensor *negative = o->conditional ? (cp_pick)(at, samples->by_class, b->sample_labels) : samples->total;
    return (cp_add)(at, terms, (cp_sub)(at, mean(at, of_class), mean(at, negative)));
}

static cp_tensor *both(cp_at at, cp_tensor *a, cp_tensor *b) { return (cp_add)(at, mean(at, a), mean(at, b)); }

/* What of the slopes is above the limit. */
static cp_tensor *steep(cp_at at, const cp_objective *o, cp_tensor *slopes) {
    return o->slope_max == 0 ? slopes : (cp_relu)(at, (cp_sub)(at, slopes, (cp_scalar)(at, (cp_real)o->slope_max)));
}

static cp_tensor *energy_loss(cp_at at, const cp_objective *o, const cp_model *model, const cp_objective_batch *b, bool of_labeled,
                              cp_objective_terms *terms) {
    bool       slopes = o->slope > 0;
    cp_tensor *z, *loss = (cp_method_cross_entropy)(at, model, b, CP_EVALUATION, &z, terms);
    loss = (cp_method_add_guesses)(at, loss, o, model, b, terms);
    if (!loss) return NULL;
    energies data = energies_at(at, model, b->unlabeled, slopes), samples = energies_at(at, model, b->samples, slopes);
    loss = add_scaled(at, loss, o->energy, energy_terms(at, o, model, b, z, of_labeled, &data, &samples));
    loss = add_scaled(at, loss, o->square, both(at, (cp_square)(at, data.total), (cp_square)(at, samples.total)));
    if (slopes) loss = add_scaled(at, loss, o->slope, both(at, steep(at, o, data.slopes), steep(at, o, samples.slopes)));
    cp_tensor *penalty = (cp_head_penalty)(at, model->head);
    loss = add_scaled(at, loss, o->lambda, penalty);
    if (!loss) return NULL;
    terms->data = cp_item(mean(at, data.total));
    terms->gap = terms->data - cp_item(mean(at, samples.total));
    terms->penalty = cp_item(penalty);
    terms->sample_energies = samples.total;
    if (slopes) {
        terms->slope_data = cp_item(mean(at, data.slopes));
        terms->slope_samples = cp_item(mean(at, samples.slopes));
    }
    return loss;
}

static cp_tensor *jem_loss(cp_at at, const cp_objective *o, const cp_model *model, const cp_objective_batch *b,
                           cp_objective_terms *terms) {
    return energy_loss(at, o, model, b, false, terms);
}

static cp_tensor *hybrid_loss(cp_at at, const cp_objective *o, const cp_model *model, const cp_objective_batch *b,
                              cp_objective_terms *terms) {
    return energy_loss(at, o, model, b, true, terms);
}

#define OPTIONS                                                                                                                    \
    "joint-steps|joint-rate|scale|pseudo|threshold|energy|square|slope|slope-max|slope-every|conditional|chains|sgld|alpha|noise|" \
    "clamp|range|start|buffer|fresh|restart"

const cp_method cp_method_jem = {.name = "jem",
                                 .about = "one head for both models",
                                 .color = 2,
                                 .head = "jem",
                                 .unlabeled = true,
                                 .samples = true,
                                 .reads = OPTIONS,
                                 .loss = jem_loss};

const cp_method cp_method_hybrid = {.name = "hybrid",
                                    .about = "the Gaussian-coupled softmax layer",
                                    .color = 1,
                                    .head = "hybrid",
                                    .unlabeled = true,
                                    .samples = true,
                                    .reads = OPTIONS "|lambda|precision",
                                    .loss = hybrid_loss};
