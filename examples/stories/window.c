/* A moving sum whose window is one element too long.
 *
 *   question: --at stdout:best
 *   defect: 16
 */
#include <stdio.h>

enum { SAMPLES = 32, WINDOW = 4 };

static int sample[SAMPLES];
static int sum[SAMPLES];

static void smooth(void) {
    for (int i = WINDOW; i < SAMPLES; i++) {
        int s = 0;
        for (int k = 0; k <= WINDOW; k++) /* the defect: should be < */
            s += sample[i - k];
        sum[i] = s / WINDOW;
    }
}

static int peak(void) {
    int best = WINDOW;
    for (int i = WINDOW; i < SAMPLES; i++)
        if (sum[i] > sum[best])
            best = i;
    return sum[best];
}

int main(void) {
    unsigned random = 7;
    for (int i = 0; i < SAMPLES; i++) {
        random = random * 1103515245u + 12345u;
        sample[i] = random >> 16 & 63;
    }
    smooth();
    int result = peak();
    printf("best %d\n", result);
    return 0;
}
