"""One layer of an LSTM or a GRU, called by name, against its definition in double precision and against differences."""

import math

import pytest
import torch

from support.named_operators import run

STEPS, BATCH, FEATURES, UNITS = 4, 3, 5, 2
PLAIN = {
    "cell_depth": 1,
    "use_peephole": False,
    "keep_prob": 1.0,
    "cell_clip": -1.0,
    "num_proj": 0,
    "time_major": True,
    "activation": "tanh",
}


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def drawn(*sizes):
    return torch.rand(sizes, dtype=torch.float64) * 2 - 1


def zeros(*sizes):
    return torch.zeros(sizes)


def lstm(x, w, b, h, c, gates, reverse=False):
    """All states, from the formulas: w has the input's rows above the state's, and the gates side by side in their order."""
    results = {name: torch.zeros(STEPS, BATCH, UNITS, dtype=torch.float64) for name in ("h", "c", "i", "j", "f", "o", "tanh_c")}
    h, c = h.clone(), c.clone()
    for t in reversed(range(STEPS)) if reverse else range(STEPS):
        of_gates = torch.cat([x[t], h], 1) @ w + b
        for n in range(BATCH):
            for u in range(UNITS):
                at = {gate: of_gates[n, k * UNITS + u].item() for k, gate in enumerate(gates)}
                i, f, o, j = sigmoid(at["i"]), sigmoid(at["f"]), sigmoid(at["o"]), math.tanh(at["j"])
                c[n, u] = f * c[n, u] + i * j
                tanh_c = math.tanh(c[n, u])
                h[n, u] = o * tanh_c
                for name, value in (("h", h[n, u]), ("c", c[n, u]), ("i", i), ("j", j), ("f", f), ("o", o), ("tanh_c", tanh_c)):
                    results[name][t, n, u] = value
    return results


def gru(x, wi, wh, bi, bh, h):
    results = {name: torch.zeros(STEPS, BATCH, UNITS, dtype=torch.float64) for name in ("h", "z", "r", "n", "hn")}
    h = h.clone()
    for t in range(STEPS):
        of_x, of_h = x[t] @ wi + bi, h @ wh + bh
        for n in range(BATCH):
            for u in range(UNITS):
                (xr, xz, xn), (hr, hz, hn) = ([side[n, k * UNITS + u].item() for k in range(3)] for side in (of_x, of_h))
                r, z = sigmoid(xr + hr), sigmoid(xz + hz)
                new = math.tanh(xn + r * hn)
                h[n, u] = (1 - z) * new + z * h[n, u]
                for name, value in (("h", h[n, u]), ("z", z), ("r", r), ("n", new), ("hn", hn)):
                    results[name][t, n, u] = value
    return results


def slopes(total, tensor):
    """The gradient by differences of a number, which `total` computes of the tensor."""
    result = torch.zeros_like(tensor)
    for place in range(tensor.numel()):
        step = torch.zeros(tensor.numel(), dtype=torch.float64)
        step[place] = 1e-6
        step = step.reshape(tensor.shape)
        result.view(-1)[place] = (total(tensor + step) - total(tensor - step)) / 2e-6
    return result


def close(got, expected, rtol=1e-5):
    torch.testing.assert_close(got.double(), expected, rtol=rtol, atol=rtol / 10)


def lstm_operands():
    return drawn(STEPS, BATCH, FEATURES), drawn(FEATURES + UNITS, 4 * UNITS), drawn(4 * UNITS), drawn(BATCH, UNITS), drawn(BATCH, UNITS)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("gates", ["ifjo", "ijfo"])
def test_lstm(acl, gates, reverse):
    x, w, b, h, c = lstm_operands()
    expected = lstm(*(t.float().double() for t in (x, w, b, h, c)), gates, reverse)
    direction = "REDIRECTIONAL" if reverse else "UNIDIRECTIONAL"
    inputs = [x.float(), w.float(), b.float(), None, h[None].float(), c[None].float()]
    got = run(acl, "DynamicRNN", inputs, [zeros(STEPS, BATCH, UNITS)] * 8, gate_order=gates, direction=direction, **PLAIN)
    for result, name in zip(got, ("h", "h", "c", "i", "j", "f", "o", "tanh_c"), strict=True):
        close(result, expected[name])


def test_lstm_of_two_weights(acl):
    x, w, b, h, c = lstm_operands()
    expected = lstm(*(t.float().double() for t in (x, w, b, h, c)), "ifjo")
    inputs = [x.float(), w[:FEATURES].float(), w[FEATURES:].float(), b.float(), None, h[None].float(), c[None].float()]
    got = run(acl, "DynamicRNNV2", inputs, [zeros(STEPS, BATCH, UNITS)] * 8, gate_order="ifco", **PLAIN)
    close(got[0], expected["h"])
    close(got[2], expected["c"])


def test_lstm_freezes_the_states_of_sequences_that_have_ended(acl):
    x, w, b, h, c = (t.float() for t in lstm_operands())
    lengths = [4, 3, 1]
    mask = torch.tensor([[[float(t < length)] * UNITS for length in lengths] for t in range(STEPS)])
    got = run(acl, "DynamicRNN", [x, w, b, mask, h[None], c[None]], [zeros(STEPS, BATCH, UNITS)] * 8, gate_order="ifjo", **PLAIN)
    expected = lstm(*(t.double() for t in (x, w, b, h, c)), "ifjo")
    for n, length in enumerate(lengths):
        close(got[0][:length, n], expected["h"][:length, n])
        assert not got[0][length:, n].any()
        close(got[2][-1, n], expected["c"][length - 1, n])


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("gates", ["ifjo", "ijfo"])
def test_gradients_of_lstm(acl, gates, split):
    operands = lstm_operands()
    of_y, of_h, of_c = drawn(STEPS, BATCH, UNITS), drawn(BATCH, UNITS), drawn(BATCH, UNITS)

    def total(*given):
        all_states = lstm(*given, gates)
        return float((all_states["h"] * of_y).sum() + (all_states["h"][-1] * of_h).sum() + (all_states["c"][-1] * of_c).sum())

    expected = [slopes(lambda t, k=k: total(*operands[:k], t, *operands[k + 1 :]), operands[k]) for k in range(5)]
    x, w, b, h, c = (t.float() for t in operands)
    saved = {name: t.float() for name, t in lstm(*operands, gates).items()}
    states = [saved["h"], h, c, saved["h"], saved["c"], of_y.float(), of_h.float(), of_c.float()]
    unused = [torch.tensor(0.0)] * 5
    rest = [*states, *(saved[name] for name in ("i", "j", "f", "o", "tanh_c")), *unused]
    if split:
        outs = [
            zeros(FEATURES, 4 * UNITS),
            zeros(UNITS, 4 * UNITS),
            zeros(4 * UNITS),
            torch.zeros_like(x),
            torch.zeros_like(h),
            torch.zeros_like(c),
        ]
        got = run(
            acl, "DynamicRNNV2Grad", [x, w[:FEATURES].contiguous(), w[FEATURES:].contiguous(), *rest], outs, gate_order=gates, **PLAIN
        )
        got = [torch.cat(got[:2]), *got[2:]]
    else:
        outs = [torch.zeros_like(w), torch.zeros_like(b), torch.zeros_like(x), torch.zeros_like(h), torch.zeros_like(c)]
        got = run(acl, "DynamicRNNGrad", [x, w, b, *rest], outs, gate_order=gates, **PLAIN)
    for result, k in zip(got, (1, 2, 0, 3, 4), strict=True):
        close(result, expected[k], rtol=1e-4)


def gru_operands():
    return (drawn(STEPS, BATCH, FEATURES), drawn(FEATURES, 3 * UNITS), drawn(UNITS, 3 * UNITS), drawn(3 * UNITS), drawn(3 * UNITS),
            drawn(BATCH, UNITS))  # fmt: skip


def test_gru(acl):
    operands = [t.float() for t in gru_operands()]
    *weights, h = operands
    expected = gru(*(t.double() for t in operands))
    got = run(acl, "DynamicGRUV2", [*weights, None, h], [zeros(STEPS, BATCH, UNITS)] * 6, gate_order="rzh", reset_after=True, **PLAIN)
    for result, name in zip(got, ("h", "h", "z", "r", "n", "hn"), strict=True):
        close(result, expected[name])


def test_gradients_of_gru(acl):
    operands = gru_operands()
    of_y, of_h = drawn(STEPS, BATCH, UNITS), drawn(BATCH, UNITS)

    def total(*given):
        states = gru(*given)["h"]
        return float((states * of_y).sum() + (states[-1] * of_h).sum())

    expected = [slopes(lambda t, k=k: total(*operands[:k], t, *operands[k + 1 :]), operands[k]) for k in range(6)]
    x, wi, wh, bi, bh, h = (t.float() for t in operands)
    saved = {name: t.float() for name, t in gru(*operands).items()}
    inputs = [x, wi, wh, saved["h"], h, saved["h"], of_y.float(), of_h.float(), saved["z"], saved["r"], saved["n"], saved["hn"]]
    outs = [torch.zeros_like(t) for t in (wi, wh, bi, bh, x, h)]
    got = run(acl, "DynamicGRUV2Grad", [*inputs, torch.tensor(0.0), torch.tensor(0.0)], outs, gate_order="rzh", reset_after=True, **PLAIN)
    for result, k in zip(got, (1, 2, 3, 4, 0, 5), strict=True):
        close(result, expected[k], rtol=1e-4)
