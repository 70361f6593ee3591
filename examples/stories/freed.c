/* A list whose element is freed while the head of another list still has it.
 *
 *   question: --at stdout:first
 *   defect: 38
 */
#include <stdio.h>
#include <stdlib.h>

struct item {
    int value;
    struct item *next;
};

static struct item *all, *urgent;

static struct item *add(struct item **list, int value) {
    struct item *it = malloc(sizeof *it);
    it->value = value;
    it->next = *list;
    *list = it;
    return it;
}

static void mark(struct item *it) { urgent = it; }

static int count(const struct item *it) {
    int n = 0;
    for (; it; it = it->next)
        n++;
    return n;
}

static void drop(int value) {
    for (struct item **at = &all; *at; at = &(*at)->next)
        if ((*at)->value == value) {
            struct item *it = *at;
            *at = it->next;
            free(it); /* the defect: urgent may be this one */
            return;
        }
}

int main(void) {
    for (int i = 1; i <= 5; i++)
        add(&all, 10 * i);
    mark(all->next);
    drop(40);
    struct item *fresh = add(&all, 77);
    int n = count(all);
    int first = urgent->value;
    printf("%d items, first %d\n", n, first + (fresh == 0));
    return 0;
}
