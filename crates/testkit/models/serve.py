"""Serve a GGUF file with llama.cpp's own HTTP server on loopback, until standard input is closed.

usage: serve.py MODEL.gguf PORT [--embeddings] [--one-at-a-time]
"""

import sys

import xllamacpp

model, port = sys.argv[1:3]
settings = xllamacpp.CommonParams()
settings.model.path = model
settings.hostnames = ["127.0.0.1"]
settings.port = int(port)
settings.n_ctx = 8192
settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 2
settings.use_jinja = True
settings.embedding = "--embeddings" in sys.argv
# Two texts at once in one batch change each other's vectors in this version.
settings.n_parallel = 1 if settings.embedding or "--one-at-a-time" in sys.argv else 2
if settings.embedding:
    settings.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
server = xllamacpp.Server(settings)
sys.stdin.read()
