"""How launches of `ti.ad.steps` are made again, and what is kept if none has to be."""

import numpy as np
import pytest

from tests.lang.behaviour.pendulums import START, STATE, Pendulums
from weft.lang.kernels.launch import Replay, Target, replay_each
from weft.lang.measure import watching
from weft.runtime.launch import CpuKernel


@pytest.fixture
def swing(ti):
    return Pendulums(ti)


def test_steps_that_all_fit_copy_what_a_plain_loop_copies(swing):
    def copied(steps):
        swing.gradients(lambda: [swing.step(0.1) for _ in steps] and swing.add())
        records = [
            one for record in swing.tape._records for step in getattr(record, "steps", [[record]]) for one in step
        ]
        return sum(copy.size for record in records for copy in (*record.before, *record.after))

    assert copied(swing.ti.ad.steps(30, memory="1 MB")) == copied(range(30)) > 0


@pytest.mark.parametrize("count", [1, 3, 20])
def test_gradients_run_twice_after_memory_has_changed_that_only_steps_read(swing, count):
    """No gradient reads it, but the launches do, if they are made again."""
    ti = swing.ti

    def gradients(steps):
        swing.shift.fill(0.01)
        swing.x.from_numpy(START)
        swing.v.fill(0.0)
        swing.u.fill(0.1)
        swing.k.from_numpy(2.0 + START)
        with ti.ad.Tape(swing.loss) as tape:
            for _ in steps:
                swing.push()
                swing.step(0.1)
            swing.add()
            swing.shift.fill(5.0)
        ti.ad.clear_all_gradients()
        swing.loss.grad[None] = 1.0
        tape.grad()
        return swing.k.grad.to_numpy()

    wanted = gradients(range(count))
    for memory in ("1 MB", 8 * STATE, 5 * STATE):
        np.testing.assert_array_equal(gradients(ti.ad.steps(count, memory=memory)), wanted)


def test_launches_are_made_again_by_native_code(swing, monkeypatch):
    """As a whole, without the tapes of their steps."""
    if swing.ti.cfg.arch not in (swing.ti.cpu, swing.ti.cuda):
        pytest.skip("launches are native")
    found = list[int]()
    right = CpuKernel.replay_each

    def replay_each(self, launches):
        found.append(len(launches))
        right(self, launches)

    monkeypatch.setattr(CpuKernel, "replay_each", replay_each)

    def body(steps):
        for t in steps:
            swing.shake()
            swing.step(0.1 + 0.01 * t)
        swing.add()

    swing.compare(body, [6 * STATE])
    assert max(found) > 10


def test_watched_launches_are_made_again_one_by_one(swing):
    """Whoever watches sees as many launches as run."""
    seen = list[str]()

    def watch(kernel, call, args, keywords):
        seen.append(kernel.__name__)
        return call(*args, **keywords)

    def body(steps):
        for _ in steps:
            swing.step(0.1)
        swing.add()

    watching.begin(watch)
    try:
        swing.compare(body, [6 * STATE])
    finally:
        watching.end(watch)
    gradients = sum("grad" in name and "step" in name for name in seen)
    assert gradients == 2 * 20  # with and without `steps`
    assert sum("step" in name for name in seen) - gradients > gradients


def test_a_launch_of_a_series_that_fails(ti):
    """Later ones do not run, and the error is that of the kernel."""
    ti.init(arch=ti.cfg.arch, debug=True)
    x, n = ti.field(ti.i32, 4), ti.field(ti.i32, ())

    @ti.kernel
    def count(k: ti.i32):
        for i in range(4):
            assert n[None] != k, "that is the one"
            x[i] += k

    def bound(k):
        made = count.bound((k,), {})
        if type(made) is not tuple:
            pytest.skip("launches are not native")
        return Replay(Target(count, made[0]()), made[1], (k,))

    count(7)
    x.fill(0)
    launches = [(bound(k), 0) for k in (1, 2, 3)]
    replay_each(launches)
    assert x.to_numpy().tolist() == [6] * 4
    n[None] = 2
    with pytest.raises(AssertionError, match="that is the one"):  # noqa: PT012 - a GPU says it when it is asked
        replay_each(launches)
        ti.sync()
    assert (x.to_numpy() < 6 + 1 + 2 + 3).all()
