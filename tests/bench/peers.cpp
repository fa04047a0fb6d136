// The programs of `programs.py` in plain C++, as one would write them: loops, OpenMP, no intrinsics.
// Built by `peer_cpp.py` with -O3 -march=native -ffast-math -fopenmp. All arrays are row-major.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#define FOR _Pragma("omp parallel for")
#define FOR_UNEVEN _Pragma("omp parallel for schedule(dynamic, 16)")

using std::max;
using std::min;

namespace {

struct vec2 {
    float x, y;
};

struct vec3 {
    float x, y, z;
};

vec2 operator+(vec2 a, vec2 b) { return {a.x + b.x, a.y + b.y}; }
vec2 operator-(vec2 a, vec2 b) { return {a.x - b.x, a.y - b.y}; }
vec2 operator*(vec2 a, float s) { return {a.x * s, a.y * s}; }
vec3 operator+(vec3 a, vec3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
vec3 operator-(vec3 a, vec3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
vec3 operator*(vec3 a, float s) { return {a.x * s, a.y * s, a.z * s}; }
float dot(vec3 a, vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

int clamped(int i, int n) { return max(0, min(n - 1, i)); }

template <typename T> void life(const T *__restrict u, T *__restrict v, int n) {
    FOR for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++) {
            const T *p = u + (long)i * n + j;
            T around = p[-n - 1] + p[-n] + p[-n + 1] + p[-1] + p[1] + p[n - 1] + p[n] + p[n + 1];
            v[(long)i * n + j] = around == 3 || (around == 2 && *p == 1);
        }
}

float scene(float x, float y, float z) {
    float u = x - 2 * std::rint(x * 0.5f), w = z - 2 * std::rint(z * 0.5f);
    float ball = std::sqrt(u * u + y * y + w * w) - 0.5f + 0.02f * std::sin(20 * x) * std::sin(20 * z);
    return min(y + 0.5f, ball);
}

struct Weights {
    int bx, by;
    float fx, fy, wx[3], wy[3];

    Weights(vec2 x, float inverse) {
        float px = x.x * inverse, py = x.y * inverse;
        bx = (int)(px - 0.5f), by = (int)(py - 0.5f);
        fx = px - bx, fy = py - by;
        fill(fx, wx), fill(fy, wy);
    }

    static void fill(float f, float *w) {
        w[0] = 0.5f * (1.5f - f) * (1.5f - f);
        w[1] = 0.75f - (f - 1) * (f - 1);
        w[2] = 0.5f * (f - 0.5f) * (f - 0.5f);
    }
};

void to_grid(const vec2 *x, const vec2 *v, const float *C, const float *J, float *grid, int count, int n, float dt) {
    const float dx = 1.0f / n, volume = 0.25f * dx * dx, mass = volume;
    const int words = 3 * n * n;
#pragma omp parallel for reduction(+ : grid[ : words])
    for (int p = 0; p < count; p++) {
        Weights w(x[p], n);
        float stress = -dt * 4 * 400 * volume * (J[p] - 1) * n * n;
        float a = stress + mass * C[4 * p], b = mass * C[4 * p + 1], c = mass * C[4 * p + 2];
        float d = stress + mass * C[4 * p + 3];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                float ux = (i - w.fx) * dx, uy = (j - w.fy) * dx, weight = w.wx[i] * w.wy[j];
                float *cell = grid + 3 * ((w.bx + i) * n + w.by + j);
                cell[0] += weight * (mass * v[p].x + a * ux + b * uy);
                cell[1] += weight * (mass * v[p].y + c * ux + d * uy);
                cell[2] += weight * mass;
            }
    }
}

void from_grid(vec2 *x, vec2 *v, float *C, float *J, const float *grid, int count, int n, float dt) {
    const float dx = 1.0f / n;
    FOR for (int p = 0; p < count; p++) {
        Weights w(x[p], n);
        float vx = 0, vy = 0, c[4] = {0, 0, 0, 0};
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                float ux = (i - w.fx) * dx, uy = (j - w.fy) * dx, weight = w.wx[i] * w.wy[j];
                const float *cell = grid + 3 * ((w.bx + i) * n + w.by + j);
                vx += weight * cell[0], vy += weight * cell[1];
                c[0] += weight * cell[0] * ux, c[1] += weight * cell[0] * uy;
                c[2] += weight * cell[1] * ux, c[3] += weight * cell[1] * uy;
            }
        for (int k = 0; k < 4; k++) C[4 * p + k] = 4 * c[k] * n * n;
        v[p] = {vx, vy};
        x[p] = x[p] + v[p] * dt;
        J[p] *= 1 + dt * (C[4 * p] + C[4 * p + 3]);
    }
}

int cell_of(vec3 p, int o0, int o1, int o2, int grid) {  // -1: outside
    int i = clamped((int)(p.x * grid), grid) + o0, j = clamped((int)(p.y * grid), grid) + o1;
    int k = clamped((int)(p.z * grid), grid) + o2;
    bool inside = min(i, min(j, k)) >= 0 && max(i, max(j, k)) < grid;
    return inside ? (i * grid + j) * grid + k : -1;
}

template <typename Visit> void neighbours(vec3 p, const int *held, const int *members, int grid, Visit visit) {
    const int most = 32;
    for (int a = -1; a < 2; a++)
        for (int b = -1; b < 2; b++)
            for (int c = -1; c < 2; c++) {
                int cell = cell_of(p, a, b, c, grid);
                if (cell >= 0)
                    for (int k = 0; k < min(held[cell], most); k++) visit(members[cell * most + k]);
            }
}

void relax(const float *__restrict p, const float *__restrict divergence, float *__restrict out, int n) {
    FOR for (int i = 0; i < n; i++) {
        const float *low = p + clamped(i - 1, n) * n, *high = p + clamped(i + 1, n) * n;
        for (int j = 0; j < n; j++) {
            float around = low[j] + high[j] + p[i * n + clamped(j - 1, n)] + p[i * n + clamped(j + 1, n)];
            out[i * n + j] = 0.25f * (around - divergence[i * n + j]);
        }
    }
}

template <class F>
void in_rows(float x, float y, float z, const int *start, int grid, F f) {
    auto cell = [grid](float q) { return clamped((int)(q * grid), grid); };
    int c0 = cell(x), c1 = cell(y), low = max(cell(z) - 1, 0), high = min(cell(z) + 1, grid - 1);
    for (int a = max(c0 - 1, 0); a <= min(c0 + 1, grid - 1); a++)
        for (int b = max(c1 - 1, 0); b <= min(c1 + 1, grid - 1); b++) {
            int row = (a * grid + b) * grid;
            f(start[row + low], start[row + high + 1]);
        }
}

}  // namespace

extern "C" {

// ---- stencils and sums ----------------------------------------------------------------------------------------------

void heat(const float *__restrict x, float *__restrict y, int n) {
    FOR for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++) {
            const float *p = x + (long)i * n + j;
            y[(long)i * n + j] = p[0] + 0.2f * (p[-n] + p[n] + p[-1] + p[1] - 4 * p[0]);
        }
}

void seven_point(const float *__restrict x, float *__restrict y, int n) {
    const int s = n * n;
    FOR for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            for (int k = 1; k < n - 1; k++) {
                const float *p = x + i * s + j * n + k;
                y[i * s + j * n + k] = p[0] + 0.1f * (p[-s] + p[s] + p[-n] + p[n] + p[-1] + p[1] - 6 * p[0]);
            }
}

void life_i32(const int32_t *u, int32_t *v, int n) { life(u, v, n); }

void life_u8(const uint8_t *u, uint8_t *v, int n) { life(u, v, n); }

void sum(const float *__restrict x, float *__restrict total, int n) {
    float s = 0;
#pragma omp parallel for reduction(+ : s)
    for (int i = 0; i < n; i++) s += x[i];
    *total += s;
}

void saxpy(const float *__restrict x, float *__restrict y, float a, int n) {
    FOR for (int i = 0; i < n; i++) y[i] = a * x[i] + y[i];
}

void spmv(const int *__restrict start, const int *__restrict column, const float *__restrict a,
          const float *__restrict x, float *__restrict y, int n) {
    FOR for (int i = 0; i < n; i++) {
        float total = 0;
        for (int k = start[i]; k < start[i + 1]; k++) total += a[k] * x[column[k]];
        y[i] = total;
    }
}

void histogram(const uint8_t *__restrict x, int *bins, int n) {
#pragma omp parallel for reduction(+ : bins[ : 256])
    for (int i = 0; i < n; i++) bins[x[i]]++;
}

void transcendental(const float *__restrict x, float *__restrict y, int n) {
    FOR for (int i = 0; i < n; i++)
        y[i] = std::sin(x[i]) * std::exp(x[i]) + std::log(x[i] + 1) + std::pow(x[i], 1.5f);
}

void matmul(const float *__restrict a, const float *__restrict b, float *__restrict c, int n) {
    FOR for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float total = 0;
            for (int k = 0; k < n; k++) total += a[i * n + k] * b[k * n + j];
            c[i * n + j] = total;
        }
}

void loops(float *__restrict x, int n, int times) {
    for (int t = 0; t < times; t++) {
        FOR for (int i = 0; i < n; i++) x[i] += 1;
    }
}

// ---- images ---------------------------------------------------------------------------------------------------------

void blur(const vec3 *__restrict x, vec3 *__restrict y, int n, int radius) {
    const float count = (2 * radius + 1) * (2 * radius + 1);
    FOR for (int i = radius; i < n - radius; i++)
        for (int j = radius; j < n - radius; j++) {
            vec3 total = {0, 0, 0};
            for (int p = -radius; p <= radius; p++)
                for (int q = -radius; q <= radius; q++) total = total + x[(i + p) * n + j + q];
            y[i * n + j] = total * (1 / count);
        }
}

void bilateral(const vec3 *__restrict x, vec3 *__restrict y, int n, int radius) {
    FOR for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            vec3 middle = x[i * n + j], total = {0, 0, 0};
            float weights = 0;
            for (int a = -radius; a <= radius; a++)
                for (int b = -radius; b <= radius; b++) {
                    vec3 other = x[clamped(i + a, n) * n + clamped(j + b, n)], apart = other - middle;
                    float weight = std::exp(-0.03f * (a * a + b * b) - 4 * dot(apart, apart));
                    total = total + other * weight;
                    weights += weight;
                }
            y[i * n + j] = total * (1 / weights);
        }
}

void mandelbrot(int *rounds, int n) {
    FOR_UNEVEN for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float cx = -2.0f + 3.0f * i / n, cy = -1.5f + 3.0f * j / n, x = 0, y = 0;
            int k = 0;
            while (x * x + y * y < 4 && k < 255) {
                float next = x * x - y * y + cx;
                y = 2 * x * y + cy;
                x = next;
                k++;
            }
            rounds[i * n + j] = k;
        }
}

void raymarch(float *image, int n) {
    FOR_UNEVEN for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float u = (i - n / 2) / (float)n, w = (j - n / 2) / (float)n, scale = 1 / std::sqrt(1 + u * u + w * w);
            float dx = u * scale, dy = w * scale, dz = scale, t = 0, light = 0.1f;
            bool hit = false;
            for (int k = 0; k < 100 && t < 20 && !hit; k++) {
                float near = scene(t * dx, 0.6f + t * dy, t * dz);
                hit = near < 0.001f;
                if (!hit) t += 0.8f * near;
            }
            if (hit) {
                light = 1;
                float s = 0.05f;
                for (int k = 0; k < 24; k++) {
                    float near = scene(t * dx + 0.5f * s, 0.6f + t * dy + 0.7f * s, t * dz - 0.5f * s);
                    light = min(light, 8 * near / s);
                    s += max(0.02f, near);
                }
            }
            image[i * n + j] = light;
        }
}

// ---- particles ------------------------------------------------------------------------------------------------------

void nbody(const vec3 *__restrict x, vec3 *__restrict f, int n) {
    FOR for (int i = 0; i < n; i++) {
        float ax = 0, ay = 0, az = 0;
        for (int j = 0; j < n; j++) {
            vec3 d = x[j] - x[i];
            float inverse = 1 / std::sqrt(dot(d, d) + 1e-3f), cubed = inverse * inverse * inverse;
            ax += d.x * cubed, ay += d.y * cubed, az += d.z * cubed;
        }
        f[i] = {ax, ay, az};
    }
}

// `grid`: velocity (two floats) and mass of n x n cells
void mpm88(vec2 *x, vec2 *v, float *C, float *J, float *grid, int count, int n, float dt, int steps) {
    const int bound = 3;
    for (int step = 0; step < steps; step++) {
        FOR for (int i = 0; i < 3 * n * n; i++) grid[i] = 0;
        to_grid(x, v, C, J, grid, count, n, dt);
        FOR for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                float *cell = grid + 3 * (i * n + j);
                if (cell[2] > 0) cell[0] /= cell[2], cell[1] /= cell[2];
                cell[1] -= dt * 9.8f;
                if (i < bound) cell[0] = max(cell[0], 0.0f);
                if (i > n - bound) cell[0] = min(cell[0], 0.0f);
                if (j < bound) cell[1] = max(cell[1], 0.0f);
                if (j > n - bound) cell[1] = min(cell[1], 0.0f);
            }
        from_grid(x, v, C, J, grid, count, n, dt);
    }
}

void sph(vec3 *x, vec3 *v, vec3 *a, float *density, int *held, int *members, int n, int grid) {
    const int most = 32;
    const float g = grid, radius = 1 / g, dt = 1e-4f, mass = 1.0f / n, stiffness = 20, viscosity = 0.1f;
    FOR for (int i = 0; i < grid * grid * grid; i++) held[i] = 0;
    FOR for (int i = 0; i < n; i++) {
        int cell = cell_of(x[i], 0, 0, 0, grid), slot;
#pragma omp atomic capture
        slot = held[cell]++;
        if (slot < most) members[cell * most + slot] = i;
    }
    FOR for (int i = 0; i < n; i++) {
        float total = 0;
        neighbours(x[i], held, members, grid, [&](int j) {
            vec3 d = x[j] - x[i];
            float q = 1 - dot(d, d) * g * g;
            if (q > 0) total += q * q * q;
        });
        density[i] = mass * total * g * g * g * 315 / (64 * 3.14159265f);
    }
    FOR for (int i = 0; i < n; i++) {
        vec3 force = {0, 0, 0};
        float own = density[i];
        neighbours(x[i], held, members, grid, [&](int j) {
            vec3 d = x[i] - x[j];
            float r = std::sqrt(dot(d, d));
            if (r < radius && r > 1e-9f) {
                float w = 1 - r * g, press = stiffness * (own + density[j] - 2) / (2 * density[j]);
                vec3 both = d * (press * w * w / r) + (v[j] - v[i]) * (viscosity * w / density[j]);
                force = force + both * (mass * g * g * g * g);
            }
        });
        a[i] = force * (1 / own) + vec3{0, -9.8f, 0};
    }
    FOR for (int i = 0; i < n; i++) {
        v[i] = v[i] + a[i] * dt;
        x[i] = x[i] + v[i] * dt;
    }
}

// the same with particles sorted by cell, and their components apart
void sph_sorted(vec3 *x, vec3 *v, float *density, float *__restrict s, int *start, int *cell, int *rank, int *came_from,
                int n, int grid) {
    const int cells = grid * grid * grid;
    const float g = grid, radius = 1 / g, dt = 1e-4f, mass = 1.0f / n, stiffness = 20, viscosity = 0.1f;
    float *__restrict px = s, *py = s + n, *pz = s + 2 * n, *ux = s + 3 * n, *uy = s + 4 * n, *uz = s + 5 * n;
    float *__restrict own = s + 6 * n;
    FOR for (int c = 0; c <= cells; c++) start[c] = 0;
    FOR for (int i = 0; i < n; i++) {
        cell[i] = cell_of(x[i], 0, 0, 0, grid);
        int slot;
#pragma omp atomic capture
        slot = start[cell[i] + 1]++;
        rank[i] = slot;
    }
    for (int c = 0; c < cells; c++) start[c + 1] += start[c];
    FOR for (int i = 0; i < n; i++) {
        int j = start[cell[i]] + rank[i];
        px[j] = x[i].x, py[j] = x[i].y, pz[j] = x[i].z, ux[j] = v[i].x, uy[j] = v[i].y, uz[j] = v[i].z;
        came_from[j] = i;
    }
    FOR for (int i = 0; i < n; i++) {
        float a = px[i], b = py[i], c = pz[i], total = 0;
        in_rows(a, b, c, start, grid, [&](int begin, int end) {
            for (int j = begin; j < end; j++) {
                float d = px[j] - a, e = py[j] - b, f = pz[j] - c, q = 1 - (d * d + e * e + f * f) * g * g;
                total += q > 0 ? q * q * q : 0;
            }
        });
        own[i] = density[came_from[i]] = mass * total * g * g * g * 315 / (64 * 3.14159265f);
    }
    FOR for (int i = 0; i < n; i++) {
        float a = px[i], b = py[i], c = pz[i], fx = 0, fy = 0, fz = 0;
        in_rows(a, b, c, start, grid, [&](int begin, int end) {
            for (int j = begin; j < end; j++) {
                float d = a - px[j], e = b - py[j], f = c - pz[j], r = std::sqrt(d * d + e * e + f * f);
                bool near = r < radius && r > 1e-9f;
                float w = near ? 1 - r * g : 0, over = near ? 1 / r : 0;
                float press = stiffness * (own[i] + own[j] - 2) / (2 * own[j]) * w * w * over;
                float drag = viscosity * w / own[j];
                fx += press * d + drag * (ux[j] - ux[i]), fy += press * e + drag * (uy[j] - uy[i]);
                fz += press * f + drag * (uz[j] - uz[i]);
            }
        });
        int k = came_from[i];
        float by = mass * g * g * g * g / own[i];
        v[k] = vec3{ux[i], uy[i], uz[i]} + vec3{fx * by, fy * by - 9.8f, fz * by} * dt;
        x[k] = vec3{a, b, c} + v[k] * dt;
    }
}

// ---- fluids ---------------------------------------------------------------------------------------------------------

void fluids(vec2 *__restrict v, vec2 *__restrict moved, float *pressure, float *relaxed, float *__restrict divergence,
            int n, int rounds) {
    const float dt = 0.03f;
    auto at = [n](int i, int j) { return clamped(i, n) * n + clamped(j, n); };
    FOR for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float sx = i - dt * n * v[i * n + j].x, sy = j - dt * n * v[i * n + j].y;
            int a = (int)std::floor(sx), b = (int)std::floor(sy);
            float fx = sx - a, fy = sy - b;
            vec2 low = v[at(a, b)] * (1 - fx) + v[at(a + 1, b)] * fx;
            vec2 high = v[at(a, b + 1)] * (1 - fx) + v[at(a + 1, b + 1)] * fx;
            moved[i * n + j] = low * (1 - fy) + high * fy;
        }
    FOR for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float across = moved[at(i + 1, j)].x - moved[at(i - 1, j)].x;
            divergence[i * n + j] = 0.5f * (across + moved[at(i, j + 1)].y - moved[at(i, j - 1)].y);
        }
    for (int k = 0; k < rounds / 2; k++) relax(pressure, divergence, relaxed, n), relax(relaxed, divergence, pressure, n);
    FOR for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            vec2 slope = {pressure[at(i + 1, j)] - pressure[at(i - 1, j)], pressure[at(i, j + 1)] - pressure[at(i, j - 1)]};
            v[i * n + j] = moved[i * n + j] - slope * 0.5f;
        }
}

}  // extern "C"
