"""The entailment model: a small encoder that reads claim and evidence together, with a verdict and a token head."""

from pathlib import Path

import torch
from torch import Tensor, nn
from transformers import AutoModel

MAX_TOKENS = 144
MAX_CLAIM_TOKENS = 64


class Entailment(nn.Module):
    """Scores (claim, evidence): three verdict logits, and for every claim token a logit that it is not supported."""

    def __init__(
        self, folder: Path | str, frozen_layers: int = 0, attention: str = "sdpa", dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.encoder = AutoModel.from_pretrained(
            folder, add_pooling_layer=False, attn_implementation=attention,
            hidden_dropout_prob=dropout, attention_probs_dropout_prob=0.0,
        )  # fmt: skip
        width = self.encoder.config.hidden_size
        self.match = nn.Embedding(4, width)
        nn.init.normal_(self.match.weight, std=0.01)
        self.dropout = nn.Dropout(0.1)
        self.verdict = nn.Linear(3 * width, 3)
        self.token = nn.Linear(width, 1)
        for parameter in self.encoder.embeddings.parameters():
            parameter.requires_grad = False
        for layer in self.encoder.encoder.layer[:frozen_layers]:
            for parameter in layer.parameters():
                parameter.requires_grad = False

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor, match_ids: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return verdict logits (batch, 3: supported, unsupported, contradicted) and token logits (batch, length)."""
        words = self.encoder.embeddings.word_embeddings(input_ids) + self.match(match_ids)
        states = self.encoder(
            inputs_embeds=words, attention_mask=attention_mask, token_type_ids=token_type_ids
        ).last_hidden_state
        claim = (attention_mask * (1 - token_type_ids)).unsqueeze(-1).to(states.dtype)
        mean = (states * claim).sum(1) / claim.sum(1)
        peak = (states - 1e4 * (1 - claim)).max(1).values
        pooled = torch.cat((states[:, 0], mean, peak), dim=-1)
        return self.verdict(self.dropout(pooled)), self.token(self.dropout(states)).squeeze(-1)
