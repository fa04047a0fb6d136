// The product of two n x n matrices of f32 in C++: as three loops, and tiled by hand for registers and caches.
#include <cstddef>

#ifdef __AVX512F__
constexpr int LANES = 16, ROWS = 12;  // 12 x 2 sums of 16 lanes in 32 registers
#else
constexpr int LANES = 8, ROWS = 6;  // 6 x 2 sums of 8 lanes in 16 registers
#endif
constexpr int WIDE = 2 * LANES, DEEP = 256;  // a strip of B: DEEP x WIDE numbers stay in the first cache

typedef float lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

// C[R x WIDE] += A[R x deep] * strip[deep x WIDE]
template <int R>
static void tile(const float *a, const float *strip, float *c, int n, int deep) {
    lanes sums[R][2];
    for (int r = 0; r < R; r++)
        for (int v = 0; v < 2; v++) sums[r][v] = *(const lanes *)(c + r * n + v * LANES);
    for (int k = 0; k < deep; k++) {
        lanes left = *(const lanes *)(strip + k * WIDE), right = *(const lanes *)(strip + k * WIDE + LANES);
        for (int r = 0; r < R; r++) {
            float one = a[r * n + k];
            sums[r][0] += one * left;
            sums[r][1] += one * right;
        }
    }
    for (int r = 0; r < R; r++)
        for (int v = 0; v < 2; v++) *(lanes *)(c + r * n + v * LANES) = sums[r][v];
}

extern "C" void three_loops(const float *__restrict a, const float *__restrict b, float *__restrict c, int n) {
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float total = 0;
            for (int k = 0; k < n; k++) total += a[i * n + k] * b[k * n + j];
            c[i * n + j] = total;
        }
}

// n is a multiple of DEEP and of WIDE, and of 4 more than a multiple of ROWS.
extern "C" void tiled(const float *__restrict a, const float *__restrict b, float *__restrict c, int n) {
#pragma omp parallel for
    for (int j = 0; j < n; j += WIDE) {
        alignas(64) float strip[DEEP * WIDE];
        for (int i = 0; i < n; i++)
            for (int w = 0; w < WIDE; w++) c[i * n + j + w] = 0;
        for (int k = 0; k < n; k += DEEP) {
            for (int d = 0; d < DEEP; d++)
                for (int w = 0; w < WIDE; w++) strip[d * WIDE + w] = b[(k + d) * n + j + w];
            int i = 0;
            for (; i + ROWS <= n; i += ROWS) tile<ROWS>(a + i * n + k, strip, c + i * n + j, n, DEEP);
            for (; i < n; i += 4) tile<4>(a + i * n + k, strip, c + i * n + j, n, DEEP);
        }
    }
}
