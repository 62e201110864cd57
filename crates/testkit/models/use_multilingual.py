"""Turn the multilingual sentence encoder into the usual form of an embedding model.

The published file takes strings and cuts them with an operator that ONNX Runtime alone does not have. This
takes that operator out, so that the model takes `input_ids` and `attention_mask` like any other, and writes
the vocabulary that the operator carried as a `tokenizer.json`.

usage: use_multilingual.py PUBLISHED.onnx FOLDER
"""

import sys
from pathlib import Path

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper
from sentencepiece import sentencepiece_model_pb2
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

published, folder = sys.argv[1], Path(sys.argv[2])
model = onnx.load(published)
graph = model.graph
cut = next(node for node in graph.node if node.op_type == "SentencepieceTokenizer")
ids, splits = cut.output
vocabulary = next(a.s for a in cut.attribute if a.name == "model")

# From a padded batch and its mask to what the operator gave: all ids in one row, and where each text begins.
constants = {
    "ibid_flat": numpy.array([-1], dtype=numpy.int64),
    "ibid_zero": numpy.array([0], dtype=numpy.int64),
    "ibid_first_axis": numpy.array(0, dtype=numpy.int64),
}
for name, value in constants.items():
    graph.initializer.append(numpy_helper.from_array(value, name))
nodes = [
    helper.make_node("Reshape", ["input_ids", "ibid_flat"], ["ibid_ids"]),
    helper.make_node("Reshape", ["attention_mask", "ibid_flat"], ["ibid_mask"]),
    helper.make_node("Cast", ["ibid_mask"], ["ibid_kept"], to=TensorProto.BOOL),
    helper.make_node("Compress", ["ibid_ids", "ibid_kept"], ["ibid_all"], axis=0),
    helper.make_node("Cast", ["ibid_all"], [ids], to=TensorProto.INT32),
    helper.make_node("ReduceSum", ["attention_mask"], ["ibid_lengths"], axes=[1], keepdims=0),
    helper.make_node("CumSum", ["ibid_lengths", "ibid_first_axis"], ["ibid_ends"]),
    helper.make_node("Concat", ["ibid_zero", "ibid_ends"], [splits], axis=0),
]
rest = [node for node in graph.node if node is not cut]
del graph.node[:]
graph.node.extend(nodes + rest)
del graph.input[:]
for name in ("input_ids", "attention_mask"):
    graph.input.append(helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "sequence"]))
kept = [opset for opset in model.opset_import if opset.domain != "ai.onnx.contrib"]
del model.opset_import[:]
model.opset_import.extend(kept)
onnx.save(model, folder / "model.onnx")

pieces = sentencepiece_model_pb2.ModelProto()
pieces.ParseFromString(vocabulary)
trainer, normalizer = pieces.trainer_spec, pieces.normalizer_spec
tokenizer = Tokenizer(models.Unigram([(p.piece, p.score) for p in pieces.pieces], trainer.unk_id, False))
steps = [normalizers.Precompiled(normalizer.precompiled_charsmap)]
if normalizer.remove_extra_whitespaces:
    steps += [normalizers.Strip(), normalizers.Replace(Regex(" {2,}"), " ")]
tokenizer.normalizer = normalizers.Sequence(steps)
tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always" if normalizer.add_dummy_prefix else "never")
begin, end = pieces.pieces[trainer.bos_id].piece, pieces.pieces[trainer.eos_id].piece
tokenizer.post_processor = processors.TemplateProcessing(
    single=f"{begin} $A {end}", special_tokens=[(begin, trainer.bos_id), (end, trainer.eos_id)]
)
tokenizer.save(str(folder / "tokenizer.json"))
