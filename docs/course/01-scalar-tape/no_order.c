/* Why an order: the results of a sweep in which a value passes on its gradient before it is complete. */
#include "engine.h"

/* As soon as the sweep reaches a value, the value passes on the gradient that it has so far, and so do its inputs. */
static void at_once(tape *t, int i) {
    node *n = &t->nodes[i];
    for (int k = 0; k < 2; k++)
        if (n->in[k] >= 0) {
            t->nodes[n->in[k]].grad += n->slope[k] * n->grad;
            at_once(t, n->in[k]);
        }
}

/* The same, but no value passes anything on twice. */
static void at_once_only_once(tape *t, int i, char *visited) {
    node *n = &t->nodes[i];
    visited[i] = 1;
    for (int k = 0; k < 2; k++)
        if (n->in[k] >= 0) {
            t->nodes[n->in[k]].grad += n->slope[k] * n->grad;
            if (!visited[n->in[k]]) at_once_only_once(t, n->in[k], visited);
        }
}

/* Each part goes down every path separately. This is right but slow. Returns how many values were visited. */
static int along_every_path(tape *t, int i, double part) {
    node *n = &t->nodes[i];
    int   visits = 1;
    n->grad += part;
    for (int k = 0; k < 2; k++)
        if (n->in[k] >= 0) visits += along_every_path(t, n->in[k], n->slope[k] * part);
    return visits;
}

int main(void) {
    tape right = {.length = 0}; /* h w + h with h = x x and w = 2: that is 3 x^2 */
    int  x = leaf(&right, 3), w = leaf(&right, 2), h = mul(&right, x, x);
    int  result = add(&right, mul(&right, h, w), h);

    tape wrong = right, wrong_again = right, slow = right;
    char visited[TAPE_ROOM] = {0};
    wrong.nodes[result].grad = wrong_again.nodes[result].grad = 1;
    at_once(&wrong, result);
    at_once_only_once(&wrong_again, result, visited);
    along_every_path(&slow, result, 1);
    backward(&right, result);
    printf("d(3 x^2)/dx at x = 3\n");
    printf("at once             %2g  wrong\n", wrong.nodes[x].grad);
    printf("at once, only once  %2g  wrong\n", wrong_again.nodes[x].grad);
    printf("along every path    %2g\n", slow.nodes[x].grad);
    printf("from last to first  %2g\n", right.nodes[x].grad);

    tape doubled = {.length = 0};
    int  y = leaf(&doubled, 1);
    for (int i = 0; i < 20; i++) y = add(&doubled, y, y);
    printf("\na value that is doubled 20 times\n");
    printf("along every path    %d visits\n", along_every_path(&doubled, y, 1));
    printf("from last to first  %d visits\n", doubled.length);
    return 0;
}
