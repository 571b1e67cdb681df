"""Exports trained weights to ONNX, quantises them to int8, and records their hash beside them.

PYTHONPATH=. python training/export.py TRAINED_FOLDER ENCODER_FOLDER MODEL_FOLDER
"""

import argparse
import hashlib
import json
import tempfile
import warnings
from pathlib import Path

import onnx
import torch
from model import Entailment
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.transformers.fusion_options import FusionOptions
from onnxruntime.transformers.optimizer import optimize_model

INPUTS = ("input_ids", "attention_mask", "token_type_ids", "match_ids")


def export(model: Entailment, path: Path) -> None:
    """Write the model with free batch size and length."""
    sample = torch.ones((2, 12), dtype=torch.long)
    types = torch.cat((torch.zeros((2, 6), dtype=torch.long), torch.ones((2, 6), dtype=torch.long)), dim=1)
    axes = {name: {0: "batch", 1: "length"} for name in INPUTS} | {
        "verdict": {0: "batch"},
        "token": {0: "batch", 1: "length"},
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model, (sample, sample, types, types), str(path), input_names=list(INPUTS),
            output_names=["verdict", "token"], dynamic_axes=axes, opset_version=17, dynamo=False,
        )  # fmt: skip


def fuse(path: Path, model: Entailment) -> None:
    """Join attention, normalisation and activation into single operations, which a CPU runs half again as fast."""
    config = model.encoder.config
    fused = optimize_model(
        str(path),
        model_type="bert",
        num_heads=config.num_attention_heads,
        hidden_size=config.hidden_size,
        optimization_options=FusionOptions("bert"),
        opt_level=0,
    )
    fused.save_model_to_file(str(path))


def quantise(source: Path, target: Path) -> None:
    """Store weights as int8, one scale per output channel; the heads stay in float, they cost nothing."""
    nodes = onnx.load(source).graph.node
    heads = [n.name for n in nodes if n.op_type in ("MatMul", "Gemm") and "encoder" not in n.name]
    quantize_dynamic(
        source,
        target,
        weight_type=QuantType.QInt8,
        per_channel=True,
        reduce_range=True,  # without it, products of 8-bit values overflow on processors that lack VNNI
        nodes_to_exclude=heads,
        op_types_to_quantize=["MatMul", "Gemm", "Attention", "Gather"],
        extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
    )


def slim_tokenizer(encoder: Path, target: Path) -> None:
    """Copy the tokenizer without its truncation and padding, which the runtime does itself."""
    data = json.loads((encoder / "tokenizer.json").read_text(encoding="utf-8"))
    data["truncation"] = data["padding"] = None
    target.write_text(json.dumps(data, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")


def main() -> None:
    """Export, quantise, hash."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trained", type=Path)
    parser.add_argument("encoder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--keep-float", type=Path, help="also keep the unquantised model here, to measure the loss")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    model = Entailment(args.encoder, attention="eager").eval()
    saved = torch.load(args.trained)
    model.load_state_dict(saved.get("model", saved))
    with tempfile.TemporaryDirectory() as folder:
        full = args.keep_float or Path(folder) / "full.onnx"
        export(model, full)
        fuse(full, model)
        quantise(full, args.out / "entailment.onnx")
    slim_tokenizer(args.encoder, args.out / "tokenizer.json")
    digest = hashlib.sha256((args.out / "entailment.onnx").read_bytes()).hexdigest()
    (args.out / "entailment.sha256").write_text(f"{digest}  entailment.onnx\n", encoding="utf-8")
    print(digest, (args.out / "entailment.onnx").stat().st_size)


if __name__ == "__main__":
    main()
