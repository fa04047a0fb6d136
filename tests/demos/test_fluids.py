"""What the fluids of the demos must keep: mass, momentum, density, the walls, the left and the right."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import weft
from weft.demos import cells, mpm3d, pbf, plume, smoke, snow, sph, vortex_street

pytest.importorskip("matplotlib", reason="pictures need the extra weft[viz]")


@pytest.mark.parametrize("dim", [2, 3])
def test_cells_find_every_neighbour(dim: int) -> None:
    """The members of the cells around a point hold all points within reach, each cell in rising order."""
    points = np.random.default_rng(2).random((300, dim), dtype=np.float32)
    points[:20] = points[:20] * 1.2 - 0.1  # some outside of the box
    x = weft.Vector.field(dim, weft.f32, 300)
    x.from_numpy(points)
    grid = cells.Cells(x, 0.17, (1.0,) * dim)
    grid.sort()
    first, member = grid.first.to_numpy(), grid.member.to_numpy()
    assert sorted(member) == list(range(300))
    lists = [list(member[a:b]) for a, b in itertools.pairwise(first)]
    assert all(one == sorted(one) for one in lists)
    shape = np.array(grid.shape)
    home = np.clip(np.floor(points / np.float32(0.17)).astype(int) + 1, 1, shape - 2)
    for i in range(0, 300, 7):
        around = [home[i] + np.array(offset) - 1 for offset in np.ndindex(*(3,) * dim)]
        found = {k for cell in around for k in lists[int(np.ravel_multi_index(tuple(cell), grid.shape))]}
        near = np.flatnonzero(np.linalg.norm(points - points[i], axis=1) < 0.17)
        assert set(near) <= found


def test_sph_pushes_in_pairs() -> None:
    """Without gravity, away from the walls, every push has its opposite: the momentum stays what it was."""
    frame = sph.build(across=20, up=20, gravity=0.0)
    count = 400
    x, v = frame.x.to_numpy(), frame.v.to_numpy()
    x[:count] += 0.4
    rng = np.random.default_rng(3)
    v[:count] = rng.normal(0, 0.5, (count, 2))
    frame.x.from_numpy(x)
    frame.v.from_numpy(v)
    before = v[:count].sum(0)
    frame(0)
    after = frame.v.to_numpy()[:count]
    assert np.abs(after - v[:count]).max() > 0.1, "nothing was pushed"
    np.testing.assert_allclose(after.sum(0), before, atol=2e-3)
    assert (after**2).sum() < (v[:count] ** 2).sum(), "viscosity takes energy"


def test_sph_column_is_water() -> None:
    """The density is that of water within a few percent; nothing leaves the tank; energy is not made."""
    frame = sph.build(across=20, up=24)
    count = 20 * 24
    for number in range(40):
        frame(number)
    x, v, rho = (field.to_numpy()[:count] for field in (frame.x, frame.v, frame.rho))
    assert (x > 0).all()
    assert (x[:, 0] < sph.WIDTH).all()
    inner = rho[rho > 0.95 * sph.DENSITY]
    assert inner.size > 0.5 * count
    assert rho.max() < 1.06 * sph.DENSITY
    start = sph.GRAVITY * 24 * sph.SPACING / 2 * count
    assert (0.5 * v**2).sum() + sph.GRAVITY * x[:, 1].sum() < 1.03 * start
    assert x[:, 0].max() > 0.35, "the dam has not broken"


def test_pbf_fills_its_box_and_keeps_its_density() -> None:
    frame = pbf.build(stroke=0.0)
    for number in range(100):
        frame.step(number)
    x, density = frame.x.to_numpy(), frame.density.to_numpy()
    assert (x >= 0).all()
    assert (x <= np.array(pbf.BOX)).all()
    assert np.percentile(density, 99) < 1.15 * frame.rho0, "squeezed"
    assert np.median(density) > 0.9 * frame.rho0, "inside it is water"
    volume = len(x) * pbf.SPACING**3
    level = volume / (pbf.BOX[0] * pbf.BOX[2])
    assert x[:, 1].mean() == pytest.approx(level / 2, rel=0.15), "as much water as was poured"


def test_lattice_boltzmann_keeps_mass_and_momentum() -> None:
    """Periodic, no cylinder: both are constant, and a shear wave fades as exp(-viscosity k^2 t)."""
    n = 64
    frame = vortex_street.build(width=n, height=n, diameter=0.0, open_ends=False)
    f = frame.f.to_numpy()
    y = 2 * np.pi * (np.arange(n) + 0.5) / n
    ways, weights = np.array(vortex_street.WAYS), np.array(vortex_street.WEIGHTS)
    u = 0.02 * np.sin(y)
    cu = ways[:, 0] * u[:, None]
    f[:] = weights * (1 + 3 * cu + 4.5 * cu**2 - 1.5 * u[:, None] ** 2)
    frame.f.from_numpy(f.astype(np.float32))
    for number in range(10):
        frame(number)
    steps = 10 * vortex_street.STEPS
    after = frame.f.to_numpy()
    assert after.sum() == pytest.approx(f.sum(), rel=1e-5)
    viscosity = (frame.tau - 0.5) / 3
    left = frame.velocity.to_numpy()[..., 0].mean(0) @ np.sin(y) * 2 / n
    assert left == pytest.approx(0.02 * np.exp(-viscosity * (2 * np.pi / n) ** 2 * steps), rel=0.02)


def test_cylinder_keeps_the_mass_and_sheds() -> None:
    """The wall gives back what it gets; air passes it on both sides and slows down behind it."""
    frame = vortex_street.build(width=120, height=60, diameter=12.0, open_ends=False)
    i, j = np.meshgrid(np.arange(120) + 0.5, np.arange(60) + 0.5, indexing="ij")
    outside = (i - 24) ** 2 + (j - 30) ** 2 >= 36
    before = frame.f.to_numpy()[outside].sum()
    for number in range(5):
        frame(number)
    assert frame.f.to_numpy()[outside].sum() == pytest.approx(before, rel=2e-5)
    velocity, density = frame.velocity.to_numpy(), frame.density.to_numpy()
    assert np.abs(velocity[~outside]).max() == 0
    assert 0.8 < density.min() <= density.max() < 1.25
    assert velocity[38, 30, 0] < 0.5 * velocity[24, 50, 0]
    np.testing.assert_allclose(velocity[:, ::-1, 0], velocity[..., 0], atol=1e-4)  # the start is symmetric


def test_vortices_come_as_often_as_behind_a_real_cylinder() -> None:
    """Strouhal number: frequency * diameter / speed is 0.18 at this Reynolds number in open air (Williamson, 1988), and
    a little more in a channel, whose sides speed the flow up."""
    frame = vortex_street.build(width=220, height=96, diameter=14.0)
    across = []
    for number in range(190):
        frame(number)
        across.append(float(frame.velocity.to_numpy()[79, 48, 1]) / vortex_street.SPEED)
    late = np.array(across[100:])
    up = np.flatnonzero((late[:-1] < 0) & (late[1:] >= 0))
    times = (up + late[up] / (late[up] - late[up + 1])) * vortex_street.STEPS
    periods = np.diff(times)
    assert len(periods) >= 3
    np.testing.assert_allclose(periods, periods.mean(), rtol=0.02)
    assert 0.18 < 14.0 / (vortex_street.SPEED * periods.mean()) < 0.22
    assert late.max() > 0.5


def divergence(u: Any, v: Any) -> Any:
    return u[1:] - u[:-1] + v[:, 1:] - v[:, :-1]


def test_smoke_is_incompressible_and_symmetric() -> None:
    frame = smoke.build(width=49, height=64, flicker=0.0)
    for number in range(12):
        frame(number)  # of an odd width the mirror image relaxes in the same order
    u, v, air = (field.to_numpy() for field in (frame.u, frame.v, frame.air))
    assert v.max() > 0.1, "it rises"
    np.testing.assert_allclose(air[::-1], air, atol=2e-2)
    assert air.min() >= 0
    assert air.max() <= 1
    assert u[0].max() == 0 == np.abs(v[:, 0]).max(), "through the walls and the floor goes nothing"
    smoke_inside = air[..., 0] * (frame.room.to_numpy()[1:-1, 1:-1] == 0)
    assert smoke_inside.max() < 0.7, "none is born in the ball"
    flow = np.hypot(u, 0).max() + np.abs(v).max()
    assert np.abs(divergence(u, v))[:, :-4].mean() < 0.02 * flow


def burn(frame: Any, source: Any, steps: int) -> None:
    """Steps of the plume, but for the picture."""
    for _ in range(steps):
        frame.follow(source)
        frame.carry(source, weft.math.vec3(0.3, 1.8, -0.2))
        frame.strengthen()
        for _ in range(4):
            frame.relax(frame.pressure, frame.pressure2)
            frame.relax(frame.pressure2, frame.pressure)
        frame.project()


def test_the_plume_rises_on_blocks_that_follow_it() -> None:
    """Blocks are those of smoke and of the source, and those beside them; where smoke was, nothing is left."""
    frame, source = plume.build(), weft.math.vec3(128.0, 32.0, 128.0)
    burn(frame, source, 15)
    at, air = frame.air.active()
    assert at[air[:, 3] > plume.THIN].max(0)[1] > 32 + plume.SOURCE + 8
    assert 0 == air[:, 3].min() < air[:, 3].max() <= 1
    smoky = {tuple(block) for block in at[air[:, 3] > plume.THIN] // plume.BLOCK}
    assert len(smoky) > 8
    for where in ((128.0, 32.0, 128.0), (60.0, 90.0, 200.0)):
        frame.follow(weft.math.vec3(*where))
        full = smoky | {tuple(int(x) // plume.BLOCK for x in where)}
        beside = {tuple(np.add(block, offset) - 1) for block in full for offset in np.ndindex(3, 3, 3)}
        assert {tuple(block) for block in frame.most.active()[0]} == beside
    frame.air.fill(0.0)
    frame.follow(source)
    assert len(frame.most.active()[0]) == 27
    frame.follow(weft.math.vec3(*where))
    assert frame.moved.active()[1].max() == 0 == frame.moved[128, 40, 128].max()


def test_the_pressure_of_the_plume_is_that_of_a_dense_grid() -> None:
    """Curl, divergence, a Jacobi iteration and the gradient, as numpy has them with zeros around the blocks."""
    frame, source = plume.build(), weft.math.vec3(128.0, 32.0, 128.0)
    burn(frame, source, 3)
    at = frame.air.active()[0]
    low, shape = at.min(0) - 1, tuple(np.ptp(at, axis=0) + 3)
    inside = tuple((at - low).T)

    def dense(field: Any) -> Any:
        array = np.zeros(shape + frame.air[0, 0, 0].shape * (field in (frame.air, frame.moved, frame.curl)), np.float64)
        array[inside] = field.active()[1]
        return array

    def slope(array: Any, axis: int) -> Any:
        return (np.roll(array, -1, axis) - np.roll(array, 1, axis)) / 2

    moved = dense(frame.moved)
    frame.strengthen()
    x, y, z = (slope(moved, axis) for axis in range(3))
    curl = np.stack([y[..., 2] - z[..., 1], z[..., 0] - x[..., 2], x[..., 1] - y[..., 0]], -1)
    np.testing.assert_allclose(dense(frame.curl)[inside][:, :3], curl[inside], atol=1e-5)
    air = dense(frame.air)
    excess = sum(slope(air[..., axis], axis) for axis in range(3))
    np.testing.assert_allclose(dense(frame.excess)[inside], excess[inside], atol=1e-5)
    pressure = dense(frame.pressure)
    assert np.abs(pressure).max() > 0.05
    frame.relax(frame.pressure, frame.pressure2)
    around = sum(np.roll(pressure, side, axis) for side in (-1, 1) for axis in range(3))
    np.testing.assert_allclose(dense(frame.pressure2)[inside], ((around - excess) / 6)[inside], atol=1e-5)
    for _ in range(20):
        frame.relax(frame.pressure, frame.pressure2)
        frame.relax(frame.pressure2, frame.pressure)
    frame.project()
    pressure, after = dense(frame.pressure), dense(frame.air)
    for axis in range(3):
        expected = air[..., axis] - slope(pressure, axis)
        np.testing.assert_allclose(after[inside][:, axis], expected[inside], atol=1e-5)
    left = sum(slope(after[..., axis], axis) for axis in range(3))
    assert np.square(left[inside]).sum() < 0.3 * np.square(excess[inside]).sum()


def test_mpm_keeps_mass_and_momentum() -> None:
    """Without gravity, far from the walls, momentum is what it was; the grid has the mass of the particles."""
    frame = mpm3d.build(grid=32, side=6, gravity=0.0)
    frame.x.from_numpy(frame.x.to_numpy() + np.array([0, 0.1, 0], np.float32))
    before = frame.v.to_numpy().sum(0)
    for _ in range(20):
        frame.substep()
    v = frame.v.to_numpy()
    np.testing.assert_allclose(v.sum(0), before, rtol=1e-3, atol=0.05)
    assert frame.mass.to_numpy().sum() == pytest.approx(3 * mpm3d.EDGE**3, rel=1e-4)


def test_snow_keeps_mass_and_momentum_on_blocks_that_follow_it() -> None:
    """Without gravity, momentum is what it was. The blocks are those around the particles, wherever these are."""
    frame = snow.build(count=300, gravity=0.0)
    far = np.array([-3000, 2000, -1000], np.float32) * frame.dx * snow.BLOCK
    frame.x.from_numpy(frame.x.to_numpy() + far)
    before = frame.v.to_numpy().sum(0)
    for _ in range(3):
        x = frame.x.to_numpy()
        frame.substep()
        indices, nodes = frame.node.active()
        base = np.floor(x / frame.dx - 0.5).astype(int)
        touched = {tuple(at // snow.BLOCK) for b in base for at in (b + np.array(o) for o in np.ndindex(3, 3, 3))}
        assert {tuple(at) for at in indices // snow.BLOCK} == touched
        assert nodes[:, 3].sum() == pytest.approx(600 * frame.volume, rel=1e-4)
    np.testing.assert_allclose(frame.v.to_numpy().sum(0), before, rtol=1e-3, atol=0.5)


def test_mpm_materials_are_what_they_say() -> None:
    """Water forgets shear, snow stays within its limits, jelly keeps its volume; all stay in the box."""
    frame = mpm3d.build(grid=32, side=8)
    for _ in range(45 * mpm3d.SUBSTEPS):
        frame.substep()
    x, F = frame.x.to_numpy(), frame.F.to_numpy()
    assert (x > (mpm3d.WALL - 2) / 32).all()
    assert (x < 1 - (mpm3d.WALL - 2) / 32).all()
    jelly, snow, water = F[:512], F[512:1024], F[1024:]
    np.testing.assert_allclose(water[:, 0, 1], 0, atol=0.25)
    stretch = np.linalg.svd(snow, compute_uv=False)
    assert stretch.min() > 1 - 0.025 - 0.05
    assert stretch.max() < 1 + 0.0045 + 0.05
    assert np.abs(np.linalg.det(jelly) - 1).mean() < 0.15
    assert x[:512, 1].min() < 0.3, "it has fallen"
