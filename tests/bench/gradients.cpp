// GradBench's problems with gradients written by hand. Each function computes the value; if `grad` is not null, the
// gradient too. Built by `peer_cpp.py` with -O3 -march=native -ffast-math -fopenmp. All arrays are row-major.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#define FOR _Pragma("omp parallel for")

using std::exp;
using std::log;
using std::max;
using std::tanh;

namespace {

double sigmoid(double a) { return 1 / (1 + exp(-a)); }

// Sums of the numbers of all threads.
void add_up(double *total, const std::vector<double> &mine) {
#pragma omp critical
    for (size_t k = 0; k < mine.size(); k++) total[k] += mine[k];
}

template <int n> void slope(const double *x, const double *y, double *z) {
    z[0] = x[0];
    for (int i = 1; i < n; i++) z[i] = x[i] * y[i - 1];
}

// What an adjoint of a slope adds to those of x and y.
template <int n> void slope_back(const double *x, const double *y, const double *dz, double *dx, double *dy) {
    dx[0] += dz[0];
    for (int i = 1; i < n; i++) dx[i] += dz[i] * y[i - 1], dy[i - 1] += dz[i] * x[i];
}

struct Gates {  // of a layer, after a character
    double forget[14], in[14], out[14], change[14], c[14], h[14], tanh_c[14];
};

void layer(const double *w, const double *a, const double *h, const double *c, Gates &g, int b) {
    for (int i = 0; i < b; i++) {
        g.forget[i] = sigmoid(a[i] * w[i] + w[b + i]);
        g.in[i] = sigmoid(h[i] * w[2 * b + i] + w[3 * b + i]);
        g.out[i] = sigmoid(a[i] * w[4 * b + i] + w[5 * b + i]);
        g.change[i] = tanh(h[i] * w[6 * b + i] + w[7 * b + i]);
        g.c[i] = c[i] * g.forget[i] + g.in[i] * g.change[i];
        g.tanh_c[i] = tanh(g.c[i]);
        g.h[i] = g.out[i] * g.tanh_c[i];
    }
}

// dh, dc: adjoints of the new state, replaced by those of the old one; da: receives that of the input.
void layer_back(const double *w, const double *a, const double *h, const double *c, const Gates &g, double *dw,
                double *dh, double *dc, double *da, int b) {
    for (int i = 0; i < b; i++) {
        double dout = dh[i] * g.tanh_c[i];
        double dcell = dc[i] + dh[i] * g.out[i] * (1 - g.tanh_c[i] * g.tanh_c[i]);
        double df = dcell * c[i] * g.forget[i] * (1 - g.forget[i]);
        double di = dcell * g.change[i] * g.in[i] * (1 - g.in[i]);
        double dd = dcell * g.in[i] * (1 - g.change[i] * g.change[i]);
        double dout_ = dout * g.out[i] * (1 - g.out[i]);
        dw[i] += df * a[i], dw[b + i] += df;
        dw[2 * b + i] += di * h[i], dw[3 * b + i] += di;
        dw[4 * b + i] += dout_ * a[i], dw[5 * b + i] += dout_;
        dw[6 * b + i] += dd * h[i], dw[7 * b + i] += dd;
        da[i] = df * w[i] + dout_ * w[4 * b + i];
        dh[i] = di * w[2 * b + i] + dd * w[6 * b + i];
        dc[i] = dcell * g.forget[i];
    }
}

void cross(const double *a, const double *b, double *c) {
    c[0] = a[1] * b[2] - a[2] * b[1], c[1] = a[2] * b[0] - a[0] * b[2], c[2] = a[0] * b[1] - a[1] * b[0];
}

double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

double minors(const double *a, int n, int row, int used) {
    if (row == n) return 1;
    double total = 0, sign = 1;
    for (int j = 0; j < n; j++)
        if (!(used >> j & 1)) total += sign * a[row * n + j] * minors(a, n, row + 1, used | 1 << j), sign = -sign;
    return total;
}

// The same, and what an adjoint adds to that of the matrix.
double minors_back(const double *a, double *da, int n, int row, int used, double adjoint) {
    if (row == n) return 1;
    double total = 0, sign = adjoint;
    for (int j = 0; j < n; j++)
        if (!(used >> j & 1)) {
            double part = minors_back(a, da, n, row + 1, used | 1 << j, sign * a[row * n + j]);
            da[row * n + j] += sign * part, total += sign / adjoint * a[row * n + j] * part, sign = -sign;
        }
    return total;
}

// One over the cube of the root.
double cubed(double square) { return 1 / (square * std::sqrt(square)); }

// The push of two charges in (10, 10 - w) and (10, 0) at x.
void push(const double *x, double w, double *f) {
    const double dx = x[0] - 10, up = x[1] - 10 + w, down = x[1];
    const double a = cubed(dx * dx + up * up), b = cubed(dx * dx + down * down);
    f[0] = -dx * (a + b), f[1] = -up * a - down * b;
}

// What an adjoint of the push adds to those of x and w.
void push_back(const double *x, double w, const double *df, double *dx_, double *dw) {
    const double dx = x[0] - 10, up = x[1] - 10 + w, down = x[1];
    const double r = dx * dx + up * up, s = dx * dx + down * down;
    const double a = cubed(r), b = cubed(s);
    const double da = 3 * a / r * (dx * df[0] + up * df[1]), db = 3 * b / s * (dx * df[0] + down * df[1]);
    dx_[0] += dx * (da + db) - (a + b) * df[0];
    dx_[1] += up * da - a * df[1] + down * db - b * df[1];
    *dw += up * da - a * df[1];
}

}  // namespace

extern "C" {

void det(const double *a, double *value, double *grad, int n) {
    if (grad) std::memset(grad, 0, n * n * sizeof(double)), *value = minors_back(a, grad, n, 0, 0, 1);
    else *value = minors(a, n, 0, 0);
}

void particle(const double *w, double *value, double *grad, int n) {
    const double dt = 0.1;
    double total = 0;
#pragma omp parallel for reduction(+ : total)
    for (int i = 0; i < n; i++) {
        double x[2] = {0, 8}, v[2] = {0.75, 0}, f[2], path[2000];
        int steps = 0;
        while (x[1] > 0) {
            push(x, w[i], f);
            path[2 * steps] = x[0], path[2 * steps + 1] = x[1], steps++;
            for (int j = 0; j < 2; j++) x[j] += dt * v[j], v[j] -= dt * f[j];
        }
        double back = x[1] / v[1], at = x[0] - back * v[0];
        total += at * at;
        if (!grad) continue;
        double dback = -2 * at * v[0], dw = 0;
        double dx[2] = {2 * at, dback / v[1]}, dv[2] = {-2 * at * back, -dback * back / v[1]};
        for (int t = steps - 1; t >= 0; t--) {
            double df[2] = {-dt * dv[0], -dt * dv[1]};
            for (int j = 0; j < 2; j++) dv[j] += dt * dx[j];
            push_back(path + 2 * t, w[i], df, dx, &dw);
        }
        grad[i] = dw;
    }
    *value = total;
}

void saddle(const double *x, double *value, double *grad, int n) {
    double total = 0;
#pragma omp parallel for reduction(+ : total)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 2; j++) {
            double at = x[2 * i + j], y = 1;
            for (int k = 0; k < 40; k++) y += 0.1 * (0.5 * at - 2 * y);
            total += at * at - y * y + 0.5 * at * y;
            if (!grad) continue;
            double dx = 2 * at + 0.5 * y, dy = 0.5 * at - 2 * y;
            for (int k = 0; k < 40; k++) dx += 0.05 * dy, dy -= 0.2 * dy;
            grad[2 * i + j] = dx;
        }
    *value = total;
}

void lse(const double *x, double *value, double *grad, int n) {
    double largest = x[0], total = 0;
#pragma omp parallel for reduction(max : largest)
    for (int i = 0; i < n; i++) largest = max(largest, x[i]);
    if (grad) {
#pragma omp parallel for reduction(+ : total)
        for (int i = 0; i < n; i++) total += grad[i] = exp(x[i] - largest);
        FOR for (int i = 0; i < n; i++) grad[i] /= total;
    } else {
#pragma omp parallel for reduction(+ : total)
        for (int i = 0; i < n; i++) total += exp(x[i] - largest);
    }
    *value = log(total) + largest;
}

void llsq(const double *x, double *value, double *grad, int n, int m) {
    double total = 0;
    if (grad) std::memset(grad, 0, m * sizeof(double));
#pragma omp parallel reduction(+ : total)
    {
        std::vector<double> mine(m);
#pragma omp for
        for (int i = 0; i < n; i++) {
            double t = -1 + i * 2.0 / (n - 1), rest = t > 0 ? 1 : t < 0 ? -1 : 0, power = 1;
            for (int j = 0; j < m; j++) rest -= x[j] * power, power *= t;
            total += 0.5 * rest * rest;
            if (grad) {
                double term = -rest;
                for (int j = 0; j < m; j++) mine[j] += term, term *= t;
            }
        }
        if (grad) add_up(grad, mine);
    }
    *value = total;
}

void kmeans(const double *p, const double *c, double *value, double *grad, int n, int k, int d) {
    double total = 0;
    if (grad) std::memset(grad, 0, k * d * sizeof(double));
#pragma omp parallel reduction(+ : total)
    {
        std::vector<double> mine(k * d);
#pragma omp for
        for (int i = 0; i < n; i++) {
            double least = 1e300;
            int nearest = 0;
            for (int a = 0; a < k; a++) {
                double apart = 0;
                for (int b = 0; b < d; b++) {
                    double off = p[i * d + b] - c[a * d + b];
                    apart += off * off;
                }
                if (apart < least) least = apart, nearest = a;
            }
            total += least;
            if (grad)
                for (int b = 0; b < d; b++) mine[nearest * d + b] += 2 * (c[nearest * d + b] - p[i * d + b]);
        }
        if (grad) add_up(grad, mine);
    }
    *value = total;
}

// The gradient is that of alpha, mu, q and l, one behind the other.
void gmm(const double *x, const double *alpha, const double *mu, const double *q, const double *l, double *value,
         double *grad, int n, int k, int d) {
    const int triangle = d * (d - 1) / 2, all = k + 2 * k * d + k * triangle;
    std::vector<double> diagonal(k * d), logs(k);
    double total = 0, weight = 0;
    for (int a = 0; a < k; a++)
        for (int r = 0; r < d; r++) diagonal[a * d + r] = exp(q[a * d + r]), logs[a] += q[a * d + r];
    if (grad) std::memset(grad, 0, all * sizeof(double));
#pragma omp parallel reduction(+ : total)
    {
        std::vector<double> mine(grad ? all : 0), y(k * d), beta(k), off(k * d), back(d);
        double *dalpha = mine.data(), *dmu = dalpha + k, *dq = dmu + k * d, *dl = dq + k * d;
#pragma omp for
        for (int i = 0; i < n; i++) {
            double largest = -1e300, sum = 0;
            for (int a = 0; a < k; a++) {
                double square = 0, *ya = &y[a * d], *oa = &off[a * d];
                const double *la = l + a * triangle;
                for (int r = 0; r < d; r++) oa[r] = x[i * d + r] - mu[a * d + r], ya[r] = diagonal[a * d + r] * oa[r];
                for (int c = 0; c < d; c++)
                    for (int r = c + 1; r < d; r++) ya[r] += *la++ * oa[c];
                for (int r = 0; r < d; r++) square += ya[r] * ya[r];
                beta[a] = alpha[a] - 0.5 * square + logs[a];
                largest = max(largest, beta[a]);
            }
            for (int a = 0; a < k; a++) sum += beta[a] = exp(beta[a] - largest);
            total += log(sum) + largest;
            if (!grad) continue;
            for (int a = 0; a < k; a++) {
                double share = beta[a] / sum, *ya = &y[a * d], *oa = &off[a * d];
                const double *la = l + a * triangle;
                double *dla = dl + a * triangle;
                dalpha[a] += share;
                for (int r = 0; r < d; r++) {
                    dq[a * d + r] += share * (1 - ya[r] * diagonal[a * d + r] * oa[r]);
                    back[r] = ya[r] * diagonal[a * d + r];
                }
                for (int c = 0; c < d; c++)
                    for (int r = c + 1; r < d; r++) *dla++ -= share * ya[r] * oa[c], back[c] += ya[r] * *la++;
                for (int r = 0; r < d; r++) dmu[a * d + r] += share * back[r];
            }
        }
        if (grad) add_up(grad, mine);
    }
    for (int a = 0; a < k; a++) weight += exp(alpha[a]);
    total -= n * log(weight);
    for (int j = 0; j < k * d; j++) total -= 0.5 * diagonal[j] * diagonal[j];
    for (int j = 0; j < k * triangle; j++) total -= 0.5 * l[j] * l[j];
    if (grad) {
        for (int a = 0; a < k; a++) grad[a] -= n * exp(alpha[a]) / weight;
        for (int j = 0; j < k * d; j++) grad[k + k * d + j] -= diagonal[j] * diagonal[j];
        for (int j = 0; j < k * triangle; j++) grad[k + 2 * k * d + j] -= l[j];
    }
    *value = total;
}

void ode(const double *x, double *value, double *grad, int steps) {
    const int n = 10;
    const double h = 2.0 / steps;
    std::vector<double> path((steps + 1) * n);
    double k1[n], k2[n], k3[n], k4[n], m[n];
    auto stages = [&](const double *y) {
        slope<n>(x, y, k1);
        for (int i = 0; i < n; i++) m[i] = y[i] + h / 2 * k1[i];
        slope<n>(x, m, k2);
        for (int i = 0; i < n; i++) m[i] = y[i] + h / 2 * k2[i];
        slope<n>(x, m, k3);
        for (int i = 0; i < n; i++) m[i] = y[i] + h * k3[i];
        slope<n>(x, m, k4);
    };
    for (int t = 0; t < steps; t++) {
        const double *y = &path[t * n];
        stages(y);
        for (int i = 0; i < n; i++) path[(t + 1) * n + i] = y[i] + h / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
    }
    *value = path[steps * n + n - 1];
    if (!grad) return;
    double dx[n] = {}, dy[n] = {};
    dy[n - 1] = 1;
    for (int t = steps - 1; t >= 0; t--) {
        const double *y = &path[t * n];
        stages(y);
        double d1[n], d2[n], d3[n], d4[n], at[n], dm[n];
        for (int i = 0; i < n; i++) d1[i] = d4[i] = h / 6 * dy[i], d2[i] = d3[i] = h / 3 * dy[i];
        auto back = [&](const double *d, const double *k, double scale, double *onto) {
            for (int i = 0; i < n; i++) at[i] = y[i] + scale * k[i], dm[i] = 0;
            slope_back<n>(x, at, d, dx, dm);
            for (int i = 0; i < n; i++) dy[i] += dm[i], onto[i] += scale * dm[i];
        };
        back(d4, k3, h, d3);
        back(d3, k2, h / 2, d2);
        back(d2, k1, h / 2, d1);
        slope_back<n>(x, y, d1, dx, dy);
    }
    std::memcpy(grad, dx, sizeof dx);
}

// Two layers; the gradient is that of w (16 rows) and e (3 rows).
void lstm(const double *w, const double *e, const double *text, double *value, double *grad, int b, int count) {
    const double scale = 1.0 / (b * (count - 1));
    std::vector<Gates> first(count), second(count);  // [t + 1]: after character t
    std::vector<double> shares((size_t)count * b), inputs((size_t)count * b);
    first[0] = second[0] = Gates{};
    double total = 0, y[14];
    for (int t = 0; t < count - 1; t++) {
        double *a = &inputs[t * b], *share = &shares[t * b], sum = 2;
        for (int i = 0; i < b; i++) a[i] = text[t * b + i] * e[i];
        layer(w, a, first[t].h, first[t].c, first[t + 1], b);
        layer(w + 8 * b, first[t + 1].h, second[t].h, second[t].c, second[t + 1], b);
        for (int i = 0; i < b; i++) y[i] = second[t + 1].h[i] * e[b + i] + e[2 * b + i], sum += share[i] = exp(y[i]);
        double norm = log(sum);
        for (int i = 0; i < b; i++) total -= text[(t + 1) * b + i] * (y[i] - norm), share[i] /= sum;
    }
    *value = total * scale;
    if (!grad) return;
    std::memset(grad, 0, 19 * b * sizeof(double));
    double *de = grad + 16 * b, dh0[14] = {}, dc0[14] = {}, dh1[14] = {}, dc1[14] = {}, da[14];
    for (int t = count - 2; t >= 0; t--) {
        const double *gold = text + (t + 1) * b, *share = &shares[t * b];
        double golds = 0;
        for (int i = 0; i < b; i++) golds += gold[i];
        for (int i = 0; i < b; i++) {
            double dy = scale * (golds * share[i] - gold[i]);
            de[b + i] += dy * second[t + 1].h[i], de[2 * b + i] += dy;
            dh1[i] += dy * e[b + i];
        }
        layer_back(w + 8 * b, first[t + 1].h, second[t].h, second[t].c, second[t + 1], grad + 8 * b, dh1, dc1, da, b);
        for (int i = 0; i < b; i++) dh0[i] += da[i];
        layer_back(w, &inputs[t * b], first[t].h, first[t].c, first[t + 1], grad, dh0, dc0, da, b);
        for (int i = 0; i < b; i++) de[i] += da[i] * text[t * b + i];
    }
}

// The two rows of the Jacobian are [0, n) and [n, 2 n) of `grad`, 15 numbers each.
void ba(const double *given, const double *feature, double *value, double *grad, int n) {
    FOR for (int i = 0; i < n; i++) {
        const double *r = given + 15 * i, *centre = r + 3, f = r[6], *p = r + 7, k1 = r[9], k2 = r[10], *X = r + 11;
        double v[3] = {X[0] - centre[0], X[1] - centre[1], X[2] - centre[2]}, weight = r[14];
        double angle = std::sqrt(dot(r, r)), c = std::cos(angle), s = std::sin(angle);
        double axis[3] = {r[0] / angle, r[1] / angle, r[2] / angle}, side[3], seen[3];
        cross(axis, v, side);
        double along = dot(axis, v);
        for (int j = 0; j < 3; j++) seen[j] = v[j] * c + side[j] * s + axis[j] * along * (1 - c);
        double u[2] = {seen[0] / seen[2], seen[1] / seen[2]}, square = u[0] * u[0] + u[1] * u[1];
        double bend = 1 + k1 * square + k2 * square * square;
        for (int j = 0; j < 2; j++) {
            double off = f * u[j] * bend + p[j] - feature[2 * i + j];
            value[2 * i + j] = weight * off;
            if (!grad) continue;
            double *row = grad + 15l * (j * n + i), dbend = weight * f * u[j];
            double dsquare = dbend * (k1 + 2 * k2 * square), du[2] = {2 * u[0] * dsquare, 2 * u[1] * dsquare};
            du[j] += weight * f * bend;
            double g[3] = {du[0] / seen[2], du[1] / seen[2], -(du[0] * u[0] + du[1] * u[1]) / seen[2]};
            double turn[3], push[3], across = dot(g, axis);
            cross(g, axis, turn), cross(v, g, push);
            double dangle = -s * (dot(g, v) - across * along) + c * dot(g, side), daxis[3];
            for (int m = 0; m < 3; m++) daxis[m] = s * push[m] + (1 - c) * (along * g[m] + across * v[m]);
            dangle -= dot(daxis, axis) / angle;
            for (int m = 0; m < 3; m++) {
                row[m] = daxis[m] / angle + dangle * axis[m];
                row[11 + m] = c * g[m] + s * turn[m] + (1 - c) * across * axis[m];
                row[3 + m] = -row[11 + m];
            }
            row[6] = weight * u[j] * bend, row[7] = row[8] = 0, row[7 + j] = weight;
            row[9] = dbend * square, row[10] = dbend * square * square, row[14] = off;
        }
    }
}

}  // extern "C"
