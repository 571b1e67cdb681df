"""The engine `hub`: detectors of each form, from a model that the test makes and saves, and without one by a double."""

import asyncio
import importlib
import importlib.util
import json

import pytest

from enricher.errors import SetupError
from enricher.judges.detectors import Detector, HubOptions, Support
from enricher.judges.hub import HubDiffJudge, HubFaithfulnessJudge, HubReader
from enricher.panel import Panel, hub_options, panel_for
from enricher.pipeline import examine
from enricher.seams import Judge
from enricher.settings import Job, Settings, load
from enricher.verdict import Status
from tests.grounding.items import split

IS_INSTALLED = all(importlib.util.find_spec(name) for name in ("torch", "transformers"))
needs_torch = pytest.mark.skipif(not IS_INSTALLED, reason="torch is not installed; make test-hub runs it")

DOCUMENTS = ["The rent is 900 EUR. Pets are allowed.", "The lift was repaired in May. The roof is new."]


class Double:
    """Scores as the test says, by words of the statement."""

    def __init__(self, form, scores, *, room=200, threshold=0.5):
        self.form, self.scores, self.room, self.snapshot = form, scores, room, "abc"
        self.options = HubOptions(model="double", threshold=threshold)
        self.pairs, self.contexts = [], []

    def length(self, text):
        return len(text.split())

    def evidence_room(self, statement):
        return self.room - self.length(statement)

    def read_pairs(self, pairs):
        self.pairs += pairs
        return [next(s for word, s in self.scores.items() if word in statement) for _, statement in pairs]

    def read_answer(self, context, answer):
        self.contexts.append(context)
        found, at = [], 0
        for word in answer.split():
            start = answer.index(word, at)
            at = start + len(word)
            found.append((start, at, self.scores.get(word.strip("."), 0.1)))
        return found


def judge(detector, answer, documents=DOCUMENTS, kind=HubDiffJudge, question="What about the flat?"):
    item = split(question, documents, answer)
    return asyncio.run(examine(item, kind(HubReader(detector)))).result


def test_a_classifier_of_pairs_labels_sentences_with_verified_evidence():
    scores = {"rent": Support(0.9), "Pets": Support(0.1, 0.8), "garden": Support(0.2, 0.1)}
    result = judge(Double("entailment", scores), "The rent is 900 EUR. Pets are forbidden. There is a garden.")
    assert [str(s.alignment_status) for s in result.segments] == ["FULLY_SUPPORTED", "CONTRADICTED", "UNSUPPORTED"]
    assert [s.score for s in result.segments] == [0.9, 0.1, 0.2]
    assert result.faithful_probability == 0.1
    supported, contradicted, _ = result.segments
    assert (supported.evidence[0].text, str(supported.evidence[0].check)) == ("The rent is 900 EUR.", "VERIFIED")
    assert contradicted.evidence[0].document_id in ("d1", "d2")


def test_a_statement_is_read_beside_pieces_that_fit_and_the_likeliest_ones():
    filler = [f"Sentence number {n} tells of nothing at all." for n in range(200)]
    documents = [" ".join([*filler, "The rent is 900 EUR."])]
    detector = Double("score", {"rent": Support(0.9)}, room=60)
    result = judge(detector, "The rent is 900 EUR.", documents)
    assert "The rent is 900 EUR." in detector.pairs[0][0]
    assert len(detector.pairs) == 4
    assert all(len(piece.split()) <= 60 for piece, _ in detector.pairs)
    assert result.segments[0].evidence[0].text == "The rent is 900 EUR."


def test_support_without_a_passage_that_speaks_of_it_is_not_believed():
    result = judge(Double("tokens", {}), "Zebras sleep.", ["The rent is 900 EUR."])
    assert [str(s.alignment_status) for s in result.segments] == ["PARTIALLY_SUPPORTED"]
    assert result.segments[0].flags == ("low_confidence",)


def test_a_paraphrase_gets_the_passage_that_the_detector_likes_best():
    class Chooser(Double):
        def read_pairs(self, pairs):
            return [Support(0.9 if "lift" in piece else 0.1) for piece, _ in pairs]

    result = judge(Chooser("score", {}), "Someone mended an elevator.")
    assert result.segments[0].evidence[0].text == "The lift was repaired in May."


def test_a_classifier_of_tokens_marks_a_part_or_all_of_a_sentence():
    detector = Double("tokens", {"sauna": 0.9, "Dogs": 0.8, "sing": 0.9, "loudly": 0.7})
    result = judge(detector, "The rent is 900 EUR and includes a sauna. Dogs sing loudly. The roof is new.")
    statuses = [str(s.alignment_status) for s in result.segments]
    assert statuses == ["PARTIALLY_SUPPORTED", "UNSUPPORTED", "FULLY_SUPPORTED"]
    assert result.segments[0].explanation == "the detector marks 'sauna.'"
    assert result.faithful_probability == pytest.approx(0.1)
    assert detector.contexts[0].startswith("Briefly answer the following question:\nWhat about the flat?\n")
    assert "passage 2: The lift was repaired" in detector.contexts[0]


def test_a_context_that_does_not_fit_is_read_in_parts_and_support_in_one_is_enough():
    class Torn(Double):
        def read_answer(self, context, answer):
            marked = 0.1 if "900" in context else 0.9
            self.contexts.append(context)
            return [(start, end, marked) for start, end, _ in Double.read_answer(self, context, answer)]

    detector = Torn("tokens", {}, room=80)
    documents = [" ".join(["word"] * 150), "The rent is 900 EUR."]
    result = judge(detector, "The rent is 900 EUR.", documents)
    assert len(detector.contexts) > 4
    assert str(result.segments[0].alignment_status) == "FULLY_SUPPORTED"


def test_what_documents_lack_is_left_to_the_embedded_engine():
    detector = Double("score", {"rent": Support(0.9)})
    result = judge(detector, "The documents do not mention a deposit. The rent is 900 EUR.")
    assert [str(s.alignment_status) for s in result.segments] == ["FULLY_SUPPORTED"] * 2
    assert all("deposit" not in statement for _, statement in detector.pairs)


def test_claims_are_judged_one_by_one():
    detector = Double("score", {"rent": Support(0.9), "garden": Support(0.2)})
    result = judge(detector, "The rent is 900 EUR and the garden is large.", kind=HubFaithfulnessJudge)
    assert [str(claim.verdict) for claim in result.claims] == ["SUPPORTED", "UNSUPPORTED"]
    assert result.most_dangerous_error is not None


def test_nothing_to_check_is_no_claims():
    verdict = asyncio.run(HubDiffJudge(HubReader(Double("score", {}))).judge(split("?", DOCUMENTS, "Hello!")))
    assert (verdict.status, verdict.score) == (Status.NO_CLAIMS, None)


def test_provenance_names_detector_form_and_threshold():
    made = HubDiffJudge(HubReader(Double("score", {}, threshold=0.7)))
    assert isinstance(made, Judge)
    assert made.provenance.version == "diff/hub/double/score/0.7/200"
    assert made.provenance.model_snapshot == "abc"


# ------------------------------------------------------------------ config
def config(tmp_path, text):
    path = tmp_path / "enricher.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("engine: hub\n", "hub.model: name a detector or its folder, since engine is hub"),
        ("local_only: true\nhub: {model: m, download: true}\n", "hub.download: local_only allows no call"),
        ("compare: {engine: hub}\n", "compare.engine"),
    ],
)
def test_a_config_that_cannot_work_is_refused(tmp_path, text, problem):
    with pytest.raises(SetupError, match=problem):
        load(config(tmp_path, text), {})


def test_local_only_lets_a_detector_run_that_is_here(tmp_path):
    settings = load(config(tmp_path, "local_only: true\nengine: hub\nhub: {model: m}\n"), {})
    assert hub_options(settings).download is False


def test_a_judge_that_a_detector_cannot_be_says_what_to_do():
    settings = Settings.model_validate({"engine": "hub", "hub": {"model": "m"}})
    with pytest.raises(SetupError, match=r"no judge 'halves'; give it another: \{judge: halves, engine: local\}"):
        Panel.of(settings, Job.model_validate({"judges": ["halves"]}))


def test_without_the_extra_the_command_says_what_to_install(monkeypatch):
    real = importlib.import_module

    def without(name, *more):
        if name in ("torch", "transformers"):
            raise ImportError(f"No module named {name!r}", name=name)
        return real(name, *more)

    monkeypatch.setattr(importlib, "import_module", without)
    with pytest.raises(SetupError, match=r"engine hub needs torch: pip install 'trace-enricher\[hub\]'"):
        Detector(HubOptions(model="m"))


# ------------------------------------------------------------------ a real model, tiny and made here
WORDS = "the rent is 900 eur pets are allowed forbidden lift was repaired in may roof new a garden there . , passage"


def saved(folder, head, labels, **more):
    """Save a tiny BERT with a vocabulary of words and random weights; return its folder."""
    torch, hub = importlib.import_module("torch"), importlib.import_module("transformers")
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS.split()]
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    torch.manual_seed(3)
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    named = dict(enumerate(labels))
    settings = hub.BertConfig(vocab_size=len(vocabulary), id2label=named, max_position_embeddings=128, **shape, **more)
    getattr(hub, f"BertFor{head}")(settings).save_pretrained(folder)
    hub.BertTokenizerFast(vocab_file=str(folder / "vocab.txt")).save_pretrained(folder)
    return folder


def raw(folder, head, evidence, statement):
    """Return what the model itself says, asked without this product."""
    torch, hub = importlib.import_module("torch"), importlib.import_module("transformers")
    tokenizer = hub.AutoTokenizer.from_pretrained(folder)
    model = getattr(hub, f"AutoModelFor{head}").from_pretrained(folder).eval()
    with torch.no_grad():
        return model(**tokenizer(evidence, statement, return_tensors="pt")).logits[0]


@needs_torch
@pytest.mark.parametrize(
    ("labels", "form", "index"),
    [
        (("contradiction", "neutral", "entailment"), "entailment", 2),
        (("entailment", "not_entailment"), "entailment", 0),
        (("LABEL_0", "LABEL_1"), "score", 1),
        (("hallucinated", "consistent"), "score", 1),
    ],
)
def test_scores_are_those_of_the_saved_classifier(tmp_path, labels, form, index):
    folder = saved(tmp_path / "m", "SequenceClassification", labels)
    detector = Detector(HubOptions(model=str(folder)))
    pairs = [("the rent is 900 eur .", "pets are allowed ."), ("the roof is new .", "the roof is new .")]
    expected = [raw(folder, "SequenceClassification", *pair).softmax(-1) for pair in pairs]
    found = detector.read_pairs(pairs)
    assert detector.form == form
    assert [s.supported for s in found] == pytest.approx([float(e[index]) for e in expected], abs=1e-5)
    told = [float(e[0]) if labels[0] == "contradiction" else 0.0 for e in expected]
    assert [s.contradicted for s in found] == pytest.approx(told, abs=1e-5)


@needs_torch
def test_one_output_is_read_as_a_probability(tmp_path):
    folder = saved(tmp_path / "m", "SequenceClassification", ("LABEL_0",))
    [found] = Detector(HubOptions(model=str(folder))).read_pairs([("the roof is new .", "pets are allowed .")])
    logit = raw(folder, "SequenceClassification", "the roof is new .", "pets are allowed .")
    assert found.supported == pytest.approx(float(logit.sigmoid()[0]), abs=1e-5)


@needs_torch
def test_tokens_are_those_of_the_answer_with_their_offsets(tmp_path):
    folder = saved(tmp_path / "m", "TokenClassification", ("supported", "hallucinated"))
    detector = Detector(HubOptions(model=str(folder)))
    answer = "The rent is 900 EUR."
    tokens = detector.read_answer("passage the roof is new .", answer)
    assert detector.form == "tokens"
    assert [answer[start:end] for start, end, _ in tokens] == ["The", "rent", "is", "900", "EUR", "."]
    shares = raw(folder, "TokenClassification", "passage the roof is new .", answer).softmax(-1)
    assert [p for _, _, p in tokens] == pytest.approx([float(s[1]) for s in shares[-7:-1]], abs=1e-5)


@needs_torch
@pytest.mark.parametrize(("threshold", "status"), [(0.0, "FULLY_SUPPORTED"), (1.0, "UNSUPPORTED")])
def test_records_are_judged_by_a_model_in_a_folder(tmp_path, threshold, status):
    folder = saved(tmp_path / "m", "SequenceClassification", ("LABEL_0", "LABEL_1"))
    settings = Settings.model_validate({"engine": "hub", "hub": {"model": str(folder), "threshold": threshold}})
    panel = panel_for(settings, "diff")
    verdict = asyncio.run(examine(split("Rent?", DOCUMENTS, "The rent is 900 EUR."), panel.judges[0].judge))
    assert [str(s.alignment_status) for s in verdict.result.segments] == [status]
    assert 0 < verdict.result.faithful_probability < 1
    assert json.loads(verdict.model_dump_json())["provenance"]["engine"] == "hub"


@needs_torch
def test_a_long_context_is_cut_to_what_the_model_takes(tmp_path):
    folder = saved(tmp_path / "m", "SequenceClassification", ("LABEL_0", "LABEL_1"))
    reader = HubReader(Detector(HubOptions(model=str(folder), threshold=0.0)))
    documents = [" ".join(["The roof is new."] * 300), "The rent is 900 EUR."]
    segments, _ = reader.read_segments(split(None, documents, "The rent is 900 EUR."))
    assert segments[0].evidence[0].text == "The rent is 900 EUR."


@needs_torch
def test_a_model_that_is_not_here_is_not_fetched(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(SetupError, match=r"hub.model 'nobody/nothing': it is not on this machine"):
        Detector(HubOptions(model="nobody/nothing"))
