"""Adds to the sentences of edit_units.py what a trained reader says: {"m": [log odds of 'restated', its worst word]}.

    PYTHONPATH=.:training python training/read_edits.py ENCODER_FOLDER MODEL.pt UNITS.jsonl.gz OUT.jsonl.gz [--folds 0]

Sentences that the documents hold word for word, of which they hold less than half, or which aren't English are left
out, and so are claims about records: {"m": null}.
"""

import argparse
import gzip
import json
from pathlib import Path

import torch
from model import Entailment
from tokenizers import Tokenizer
from train_edits import tensors

LEAST, BATCH = 0.5, 32


def main() -> None:
    """Read every pair once."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("encoder", "model", "units", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--folds", type=int, nargs="*")
    args = parser.parse_args()
    torch.set_num_threads(1)
    tokenizer = Tokenizer.from_file(str(args.encoder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    model = Entailment(args.encoder).eval()
    model.load_state_dict(torch.load(args.model))
    with gzip.open(args.units, "rt", encoding="utf-8") as lines:
        units = [u for u in map(json.loads, lines) if args.folds is None or u["f"] in args.folds]
    pairs = {
        (" ".join(c["e"]), c["c"])
        for u in units
        for c in u["claims"]
        if not u["records"] and c["e"] and c["share"] >= LEAST and not c["copied"] and c["language"] in ("en", None)
    }
    wanted = sorted(pairs, key=lambda pair: len(pair[0]) + len(pair[1]))
    found = {}
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        for i in range(0, len(wanted), BATCH):
            batch = tensors(tokenizer, [{"e": e, "c": c} for e, c in wanted[i : i + BATCH]])
            inputs = [batch[n] for n in ("input_ids", "attention_mask", "token_type_ids", "match_ids")]
            verdict, token = model(*inputs)
            logs = torch.log_softmax(verdict.float(), -1)
            odds = logs[:, 0] - torch.logsumexp(logs[:, 1:], -1)
            outside = ((batch["token_type_ids"] == 1) | (batch["attention_mask"] == 0)).float()
            worst = (token.float() - 1e4 * outside)[:, 1:].max(1).values
            for pair, *reading in zip(wanted[i : i + BATCH], odds.tolist(), worst.tolist(), strict=True):
                found[pair] = [round(value, 3) for value in reading]
    with gzip.open(args.out, "wt", encoding="utf-8") as out:
        for unit in units:
            for claim in unit["claims"]:
                claim["m"] = found.get((" ".join(claim["e"]), claim["c"]))
            out.write(json.dumps(unit, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
