/* Every op of the registry, in every mode and shape of the case table: gradients of first and second order against
 * differences. In float only gross errors can be found; the double build has the strict tolerances. */
#include "tests/support/gradcheck.h"

#include "unity.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void setUp(void) {}
void tearDown(void) {}

static bool has_case(const char *op) {
    for (int i = 0; i < case_count(); i++)
        if (strcmp(case_at(i)->op, op) == 0) return true;
    return false;
}

/* The first of these ops that has no case, or NULL. */
static const char *without_case(const cp_op *const *ops, int count) {
    for (int i = 0; i < count; i++)
        if (!has_case(ops[i]->name)) return ops[i]->name;
    return NULL;
}

static const cp_op *registered(const char *name) {
    int                 count;
    const cp_op *const *ops = cp_op_list(&count);
    for (int i = 0; i < count; i++)
        if (strcmp(ops[i]->name, name) == 0) return ops[i];
    return NULL;
}

static void every_registered_op_has_a_case(void) {
    int                 count;
    const cp_op *const *ops = cp_op_list(&count);
    TEST_ASSERT_GREATER_THAN_INT(60, count);
    const char *name = without_case(ops, count);
    if (name) TEST_FAIL_MESSAGE(name);
}

static void an_op_without_a_case_is_noticed(void) {
    static const cp_op  forgotten = {.name = "forgotten"};
    const cp_op *const *ops = cp_op_list(NULL);
    TEST_ASSERT_EQUAL_STRING("forgotten", without_case((const cp_op *[]){ops[0], &forgotten, ops[1]}, 3));
}

static bool is_sentence(const char *text) {
    size_t length = text ? strlen(text) : 0;
    return length > 1 && text[0] >= 'A' && text[0] <= 'Z' && text[length - 1] == '.';
}

static void every_gradient_rule_has_a_formula_and_a_sentence(void) {
    int                 count;
    const cp_op *const *ops = cp_op_list(&count);
    for (int i = 0; i < count; i++)
        if (ops[i]->grad && (!ops[i]->rule || !*ops[i]->rule || !is_sentence(ops[i]->words))) TEST_FAIL_MESSAGE(ops[i]->name);
}

static void every_case_names_a_registered_op(void) {
    for (int i = 0; i < case_count(); i++)
        if (!registered(case_at(i)->op)) TEST_FAIL_MESSAGE(case_at(i)->op);
}

static void no_two_cases_of_an_op_have_the_same_mode(void) {
    for (int i = 0; i < case_count(); i++)
        for (int j = 0; j < i; j++)
            if (strcmp(case_at(i)->op, case_at(j)->op) == 0 && strcmp(case_at(i)->mode, case_at(j)->mode) == 0)
                TEST_FAIL_MESSAGE(case_at(i)->mode);
}

/* The distance of the value from the kinks that its domain avoids; `apart` lists the earlier values of its kind. */
static double distance_to_kink(case_domain domain, double x, const double *apart, int known) {
    double distance = domain == FROM_OFF_WHOLE ? fabs(x - nearbyint(x)) : domain == FROM_POSITIVE ? x : INFINITY;
    for (int i = 0; i < known && domain == FROM_APART; i++) distance = fmin(distance, fabs(x - apart[i]));
    return distance;
}

static void inputs_keep_away_from_kinks_by_construction(void) {
    static double values[CASE_VALUES], apart[CASE_VALUES];
    for (int i = 0; i < case_count(); i++) {
        const op_case *c = case_at(i);
        const double  *x = values;
        int            known = 0;
        case_fill(c, values);
        for (int k = 0; k < case_inputs(c); k++)
            for (size_t j = case_size(&c->in[k].shape); j > 0; j--, x++) {
                case_domain domain = c->in[k].domain;
                TEST_ASSERT_TRUE_MESSAGE(distance_to_kink(domain, *x, apart, known) > 4 * CP_GRADCHECK_STEP, c->mode);
                if (domain == FROM_APART) apart[known++] = *x;
            }
    }
}

static int ops_checked(void) {
    int ops = 0;
    for (int i = 0; i < case_count(); i++) {
        bool first = true;
        for (int j = 0; j < i && first; j++) first = strcmp(case_at(i)->op, case_at(j)->op) != 0;
        ops += first;
    }
    return ops;
}

/* One line about a case that did not pass. */
static void complain(const op_case *c, const gradcheck *r) {
    printf("%s, %s: ", c->op, c->mode);
    if (*r->of.message)
        printf("%s", r->of.message);
    else if (r->of.kinks)
        printf("%d places lie at a kink", r->of.kinks);
    else if (r->parameters != 0)
        printf("parameters and variables get gradients that differ by %.2e", r->parameters);
    else
        printf(c->constant ? "gradients flow through a constant" : "no gradient flows");
    printf("\n");
}

static void gradients_of_first_and_second_order_agree_with_differences(void) {
    double first = 0, second = 0;
    int    wrong = 0, checked = 0;
    for (int i = 0; i < case_count(); i++) {
        const op_case *c = case_at(i);
        if (c->double_only && sizeof(cp_real) < sizeof(double)) continue;
        gradcheck r = gradcheck_case(c);
        checked++;
        first = fmax(first, r.of.first);
        second = fmax(second, r.of.second);
        if (gradcheck_passed(&r) && r.of.tracked == !c->constant) continue;
        complain(c, &r);
        wrong++;
    }
    printf("gradient check in %s: %d ops, %d cases, first and second order, worst relative error %.1e / %.1e\n", CP_REAL_NAME,
           ops_checked(), checked, first, second);
    TEST_ASSERT_EQUAL_INT_MESSAGE(0, wrong, "cases are wrong; see the lines above");
}

/* A case under the name of an op that it never calls would prove nothing. */
static void every_op_with_a_rule_is_reached_by_its_cases(void) {
    int                 count;
    const cp_op *const *ops = cp_op_list(&count);
    for (int k = 0; k < count; k++) {
        bool reached = !ops[k]->grad;
        for (int i = 0; i < case_count() && !reached; i++)
            if (strcmp(case_at(i)->op, ops[k]->name) == 0) reached = gradcheck_case(case_at(i)).reached;
        TEST_ASSERT_TRUE_MESSAGE(reached, ops[k]->name);
    }
}

int main(void) {
    UNITY_BEGIN();
    RUN_TEST(every_registered_op_has_a_case);
    RUN_TEST(an_op_without_a_case_is_noticed);
    RUN_TEST(every_gradient_rule_has_a_formula_and_a_sentence);
    RUN_TEST(every_case_names_a_registered_op);
    RUN_TEST(no_two_cases_of_an_op_have_the_same_mode);
    RUN_TEST(inputs_keep_away_from_kinks_by_construction);
    RUN_TEST(gradients_of_first_and_second_order_agree_with_differences);
    RUN_TEST(every_op_with_a_rule_is_reached_by_its_cases);
    return UNITY_END();
}
