import math

erf = np.vectorize(math.erf, otypes=[np.float32])


def dense(weights, name, x):
    flat = x.reshape(-1, x.shape[-1]) @ weights[name + ".weight"].T + weights[name + ".bias"]
    return flat.reshape(*x.shape[:-1], -1)


def normed(weights, name, x):
    centred = x - x.mean(axis=-1, keepdims=True)
    scale = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
    return centred / scale * weights[name + ".weight"] + weights[name + ".bias"]


def attended(weights, name, x, heads=12):
    def part(which):
        return dense(weights, f"{name}self.{which}", x).reshape(*x.shape[:2], heads, -1).swapaxes(1, 2)

    scores = part("query") @ part("key").swapaxes(2, 3) / np.sqrt(np.float32(x.shape[2] / heads))
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    mixed = (shares @ part("value")).swapaxes(1, 2).reshape(x.shape)
    return normed(weights, name + "output.LayerNorm", x + dense(weights, name + "output.dense", mixed))


def layers(sentences):
    """The mean over a sentence's tokens after each of the six layers; all sentences have as many tokens."""
    weights = load_file(MODEL + "model.safetensors")
    numbers = {word: number for number, word in enumerate(vocabulary())}
    tokens = np.array([[numbers[word] for word in f"[CLS] {sentence} [SEP]".split()] for sentence in sentences])
    x = weights["embeddings.word_embeddings.weight"][tokens]
    x = x + weights["embeddings.position_embeddings.weight"][: tokens.shape[1]]
    x = x + weights["embeddings.token_type_embeddings.weight"][0]
    x = normed(weights, "embeddings.LayerNorm", x)
    means = []
    for layer in range(6):
        name = f"encoder.layer.{layer}."
        x = attended(weights, name + "attention.", x)
        inner = dense(weights, name + "intermediate.dense", x)
        inner = inner * (1 + erf(inner / np.sqrt(np.float32(2)))) / 2
        x = normed(weights, name + "output.LayerNorm", x + dense(weights, name + "output.dense", inner))
        means.append(x.mean(axis=1))
    return means


def embeddings(last):
    return last / np.linalg.norm(last, axis=1, keepdims=True)


def model_runs_as_elsewhere():
    """The embedding that sentence-transformers is known to give for this sentence begins with these numbers."""
    found = embeddings(layers(["this is an example sentence"])[5])[0, :5]
    assert np.allclose(found, [0.0676569, 0.0634959, 0.0487131, 0.0793050, 0.0374480], rtol=0, atol=1e-6), found


def write_activations():
    """Of 400 sentences: the activations in the middle of the model, and the embeddings it ends with."""
    who = "cat dog horse bird fish lion wolf bear mouse snake".split()
    does = "sleeps waits eats runs".split()
    where = "france japan brazil egypt canada india spain kenya norway peru".split()
    sentences = [f"the {a} {b} in {c}" for a in who for b in does for c in where]
    means = layers(sentences)
    np.save("middle.npy", means[2])
    np.save("embeddings.npy", embeddings(means[5]))
    open("sentences.txt", "w", encoding="utf-8").write("\n".join(sentences) + "\n")


def measured_alike():
    values = np.load("embeddings.npy").astype(float)
    same_measures(json.load(open("activations.json")), values, 0, open("sentences.txt").read().split("\n"))


def decoded_alike():
    keys, values = np.load("middle.npy").astype(float), np.load("embeddings.npy").astype(float)
    scores = FactMlp("activations.safetensors")(keys) @ values.T
    assert (scores.argmax(axis=1) == np.arange(400)).all()
