/* Sums of subtrees that are kept, and a change that the root is not told of.
 *
 *   question: --at stdout:sum --relevant
 *   defect: 40
 */
#include <stdio.h>
#include <stdlib.h>

struct node {
    long value, memo;
    int known;
    struct node *left, *right, *up;
};

static struct node *insert(struct node *root, struct node *up, long v) {
    if (!root) {
        root = calloc(1, sizeof *root);
        root->value = v;
        root->up = up;
        return root;
    }
    if (v < root->value)
        root->left = insert(root->left, root, v);
    else
        root->right = insert(root->right, root, v);
    return root;
}

static long total(struct node *n) {
    if (!n)
        return 0;
    if (!n->known) {
        n->memo = n->value + total(n->left) + total(n->right);
        n->known = 1;
    }
    return n->memo;
}

static void dirty(struct node *n) {
    for (; n->up; n = n->up) /* the defect: stops before the root */
        n->known = 0;
}

static struct node *find(struct node *n, long v) {
    while (n && n->value != v)
        n = v < n->value ? n->left : n->right;
    return n;
}

int main(void) {
    struct node *root = 0;
    long keys[] = {50, 20, 70, 10, 30, 60, 80};
    for (int i = 0; i < 7; i++)
        root = insert(root, 0, keys[i]);
    long before = total(root);
    struct node *n = find(root, 30);
    n->value = 35;
    dirty(n);
    long after = total(root);
    printf("before %ld\n", before);
    printf("sum %ld\n", after);
    return 0;
}
