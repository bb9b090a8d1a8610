def tokens():
    return load_file(MODEL + "model.safetensors")["embeddings.word_embeddings.weight"].astype(float)


def measured_alike():
    same_measures(json.load(open("measured.json")), tokens()[2000:2400], 2000, vocabulary())


def write_facts():
    """300 facts between tokens, by name: each token and the one 300 rows further."""
    table, words = tokens(), vocabulary()
    np.save("keys.npy", table[2000:2600])
    np.save("values.npy", table[2000:2600])
    open("words.txt", "w", encoding="utf-8").write("\n".join(words[2000:2600]) + "\n")
    pairs = [f'"{words[row]}","{words[row + 300]}"' for row in range(2000, 2300)]
    open("map.csv", "w", encoding="utf-8").write("key,value\n" + "\n".join(pairs) + "\n")


def decoded_alike():
    keys, values = np.load("keys.npy"), np.load("values.npy")
    scores = FactMlp("mlp.safetensors")(keys[:300]) @ values.T
    assert (scores.argmax(axis=1) == np.arange(300, 600)).all()
