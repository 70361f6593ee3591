/* A cache of a function of a table that is not told of a change.
 *
 *   question: --at stdout:total --relevant
 *   defect: 29
 */
#include <stdio.h>

enum { KEYS = 16 };

static int price[KEYS];
static int cached[KEYS];
static int valid[KEYS];

static int taxed(int key) { return price[key] + price[key] / 5; }

static int lookup(int key) {
    if (!valid[key]) {
        cached[key] = taxed(key);
        valid[key] = 1;
    }
    return cached[key];
}

static void forget(int key) { valid[key] = 0; }

static void change(int key, int to) {
    int old = price[key];
    price[key] = to;
    if (to > old) /* the defect: a lower price leaves the cache as it was */
        forget(key);
}

int main(void) {
    for (int i = 0; i < KEYS; i++)
        price[i] = 100 + 10 * i;
    int before = 0;
    for (int i = 0; i < KEYS; i++)
        before += lookup(i);
    change(3, 500);
    change(5, 20);
    int now = lookup(5);
    printf("before %d, total %d\n", before, now);
    return 0;
}
