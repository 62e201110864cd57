"""The reference for vectors and scores: the published models run by their own Python libraries, a text at a time.

usage: reference.py embed|rerank FOLDER < JSON > JSON
embed takes a list of texts and gives a list of vectors; rerank takes {question, passages} and gives a list of
scores. FOLDER is `minilm`, `use-published` or `reranker` in the folder of the test models.
"""

import json
import sys
from pathlib import Path

import numpy
import onnxruntime

job, folder = sys.argv[1], Path(sys.argv[2])
given = json.load(sys.stdin)


def normalised(vector):
    return (vector / numpy.linalg.norm(vector)).tolist()


def encoded(text):
    tokens = tokenizer.encode(text)
    fields = (("input_ids", tokens.ids), ("attention_mask", tokens.attention_mask), ("token_type_ids", tokens.type_ids))
    return {name: numpy.array([values], dtype=numpy.int64) for name, values in fields}


if folder.name == "use-published":
    import onnxruntime_extensions

    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(onnxruntime_extensions.get_library_path())
    session = onnxruntime.InferenceSession(str(next(folder.glob("*.onnx"))), options)
    print(json.dumps([normalised(session.run(None, {"inputs": numpy.array([text], dtype=object)})[0][0]) for text in given]))
    sys.exit()

from tokenizers import Tokenizer  # noqa: E402

tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
tokenizer.no_padding()
tokenizer.enable_truncation(256 if job == "embed" else 512)
session = onnxruntime.InferenceSession(str(folder / "model.onnx"))
if job == "embed":
    print(json.dumps([normalised(session.run(None, encoded(text))[0][0].mean(axis=0)) for text in given]))
else:
    scores = []
    for passage in given["passages"]:
        logits = session.run(None, encoded(f"Query: {given['question']}\nSentence: {passage}"))[0][0]
        exponents = numpy.exp(logits - logits.max())
        scores.append(float(exponents[1] / exponents.sum()))
    print(json.dumps(scores))
