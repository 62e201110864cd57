"""Chroma beside the store: writing and filtered search over the same vectors.

usage: chroma_reference.py VECTORS.f32 DIMENSIONS QUESTIONS.f32
prints one JSON object: seconds to write, median milliseconds of a filtered search, resident megabytes
"""

import json
import statistics
import sys
import tempfile
import time

import chromadb
import numpy as np
import psutil


def main(vectors_file: str, dimensions: int, questions_file: str) -> None:
    vectors = np.fromfile(vectors_file, dtype=np.float32).reshape(-1, dimensions)
    questions = np.fromfile(questions_file, dtype=np.float32).reshape(-1, dimensions)
    with tempfile.TemporaryDirectory() as folder:
        client = chromadb.PersistentClient(folder, settings=chromadb.Settings(anonymized_telemetry=False))
        collection = client.create_collection("chunks", metadata={"hnsw:space": "cosine"})
        began = time.perf_counter()
        for start in range(0, len(vectors), 5000):
            part = vectors[start : start + 5000]
            names = [str(start + index) for index in range(len(part))]
            kinds = [{"kind": "quarter" if (start + index) // 2500 % 4 == 0 else "rest"} for index in range(len(part))]
            collection.add(ids=names, embeddings=part, metadatas=kinds)
        written = time.perf_counter() - began
        times = []
        for question in questions:
            began = time.perf_counter()
            collection.query(query_embeddings=[question], n_results=20, where={"kind": "quarter"})
            times.append((time.perf_counter() - began) * 1000)
        memory = psutil.Process().memory_info().rss / 2**20
        print(json.dumps({"written": written, "median": statistics.median(times), "memory": memory}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
