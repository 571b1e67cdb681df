"""Put together the judges of a job: which engine, which prompt, which model, and who checks them."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

from enricher.errors import SetupError
from enricher.judges.chat import Chat, ChatOptions
from enricher.judges.consistency import ModelConsistencyJudge
from enricher.judges.detectors import Detector, HubOptions
from enricher.judges.diff import ModelDiffJudge
from enricher.judges.endpoint import Address
from enricher.judges.faithfulness import ModelFaithfulnessJudge
from enricher.judges.halves import ModelHalvesJudge
from enricher.judges.hub import HubDiffJudge, HubFaithfulnessJudge, HubReader
from enricher.judges.local import LocalDiffJudge
from enricher.judges.local_consistency import LocalConsistencyJudge
from enricher.judges.local_faithfulness import LocalFaithfulnessJudge
from enricher.judges.local_halves import LocalHalvesJudge
from enricher.judges.local_pairwise import LocalPairJudge
from enricher.judges.pairs import DIMENSIONS
from enricher.judges.pairwise import ModelPairJudge, PairOptions
from enricher.judges.rehearsal import Rehearsal
from enricher.judges.second import Checks
from enricher.pipeline import Judging
from enricher.privacy import refuse_model
from enricher.prompts import Prompt
from enricher.prompts import load as load_prompt
from enricher.seams import Judge, PairJudge, SecondCheck
from enricher.settings import Job, JudgeChoice, Settings
from enricher.wiring import Wiring, prices_of

# One line a judge: how it is made on a model, on the embedded engine, and on a detector.
_ON_MODEL: dict[str, Callable[[Chat, Prompt, JudgeChoice, bytes], Judge]] = {
    "consistency": lambda chat, prompt, choice, salt: ModelConsistencyJudge(chat, prompt, salt=salt),
    "diff": lambda chat, prompt, choice, salt: ModelDiffJudge(chat, prompt, salt=salt),
    "faithfulness": lambda chat, prompt, choice, salt: ModelFaithfulnessJudge(
        chat, prompt, focus=choice.focus, salt=salt
    ),
    "halves": lambda chat, prompt, choice, salt: ModelHalvesJudge(chat, prompt, salt=salt),
}
_LOCAL: dict[str, Callable[[Job, JudgeChoice], Judge]] = {
    "consistency": lambda job, choice: LocalConsistencyJudge(),
    "diff": lambda job, choice: LocalDiffJudge(risk_level=job.risk_level),
    "faithfulness": lambda job, choice: LocalFaithfulnessJudge(focus=choice.focus, risk_level=job.risk_level),
    "halves": lambda job, choice: LocalHalvesJudge(),
}
_ON_HUB: dict[str, Callable[[HubReader], Judge]] = {"diff": HubDiffJudge, "faithfulness": HubFaithfulnessJudge}
# When a judge runs if the config does not say.
_USUALLY = {"consistency": ("two_documents",)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Panel:
    """The judges of one job; they share the model client, and the tags of one item, for the provider's prefix cache."""

    judges: tuple[Judging, ...]
    second: SecondCheck | None = None
    chats: tuple[Chat, ...] = ()
    wiring: Wiring = field(default_factory=Wiring)

    @classmethod
    def of(cls, settings: Settings, job: Job, wiring: Wiring | None = None) -> "Panel":
        """Make the judges that a job names.

        Raises:
            SetupError: a prompt, a model or its key is missing.
        """
        maker = _Maker(settings, job, wiring or Wiring())
        judges = tuple(
            Judging(judge=maker.judge(choice), when=choice.when or _USUALLY.get(choice.judge, ()))
            for choice in job.judges
        )
        second = maker.second()
        return cls(judges=judges, second=second, chats=maker.chats, wiring=maker.wiring)

    def halt(self) -> str | None:
        """Say why no further trace should be begun: the budget is used up, or a model is not to be had."""
        return next((reason for chat in self.chats if (reason := chat.halt)), None)

    def release(self) -> None:
        """Stop waiting for what takes hours."""
        for chat in self.chats:
            chat.release()

    async def aclose(self) -> None:
        """Release all connections."""
        for judging in self.judges:
            await judging.judge.aclose()
        if self.second is not None:
            await self.second.aclose()
        await self.wiring.aclose()


def panel_for(settings: Settings, name: str, engine: str | None = None, wiring: Wiring | None = None) -> Panel:
    """Make one judge, with its second check, for records without a job.

    Raises:
        SetupError: there is no such judge or engine, or what it needs is missing.
    """
    if name not in _LOCAL:
        raise SetupError(f"--judge: '{name}' is not known; use one of {', '.join(_LOCAL)}")
    if engine not in (None, "local", "openai", "hub"):
        raise SetupError(f"--engine: '{engine}' is not known; use local, openai or hub")
    choice = JudgeChoice.model_validate({"judge": name, "engine": engine, "when": "always"})
    return Panel.of(settings, Job(judges=(choice,)), wiring)


def pair_judge(
    settings: Settings, *, engine: str | None = None, both_orders: bool = False, wiring: Wiring | None = None
) -> PairJudge:
    """Make the judge of pairs that the config describes; `both_orders` asks for them on every pair.

    Raises:
        SetupError: there is no such engine, or what it needs is missing.
    """
    if engine not in (None, "local", "openai"):
        raise SetupError(f"--engine: '{engine}' is not known; use local or openai")
    wanted = settings.compare
    dimensions = tuple(name for name in DIMENSIONS if name in wanted.dimensions)
    if pair_engine(settings, engine) == "local":
        return LocalPairJudge(dimensions)
    job = Job(
        additional_constraints=wanted.additional_constraints, examples=wanted.examples, risk_level=wanted.risk_level
    )
    maker = _Maker(settings, job, wiring or Wiring())
    share = 1.0 if both_orders else wanted.both_orders
    options = PairOptions(dimensions=dimensions, both_orders=share, attempts=wanted.attempts)
    return ModelPairJudge(maker.chat(), maker.prompt(settings.openai.prompts.pairwise), options)


def pair_engine(settings: Settings, engine: str | None = None) -> str:
    """Return which engine compares pairs; a detector can't."""
    return engine or settings.compare.engine or ("openai" if settings.engine == "openai" else "local")


class _Maker:
    def __init__(self, settings: Settings, job: Job, wiring: Wiring) -> None:
        self.wiring = wiring
        self._settings = settings
        self._job = job
        self._salt = wiring.salt or secrets.token_bytes(16)
        self._chats: dict[str, Chat] = {}
        self._reader: HubReader | None = None

    @property
    def chats(self) -> tuple[Chat, ...]:
        return tuple(self._chats.values())

    def judge(self, choice: JudgeChoice) -> Judge:
        engine = choice.engine or self._settings.engine
        if engine == "local":
            return _LOCAL[choice.judge](self._job, choice)
        if engine == "hub":
            return self._on_hub(choice)
        name = choice.prompt or getattr(self._settings.openai.prompts, choice.judge)
        return _ON_MODEL[choice.judge](self.chat(), self.prompt(name), choice, self._salt)

    def _on_hub(self, choice: JudgeChoice) -> Judge:
        if choice.judge not in _ON_HUB:
            advice = f"give it another: {{judge: {choice.judge}, engine: local}}"
            raise SetupError(f"the engine hub has no judge '{choice.judge}'; {advice}")
        if self._reader is None:  # one detector in memory for all judges
            self._reader = HubReader(Detector(hub_options(self._settings)))
        return _ON_HUB[choice.judge](self._reader)

    def second(self) -> SecondCheck | None:
        wanted = self._job.second_check
        on_model = any((choice.engine or self._settings.engine) != "local" for choice in self._job.judges)
        if not wanted.by or not on_model:
            return None
        assessor = None
        if "model" in wanted.by:
            assessor = ModelFaithfulnessJudge(self.chat(wanted.model), self.prompt(wanted.prompt), salt=self._salt)
        return Checks(
            has_engine="local" in wanted.by,
            assessor=assessor,
            stricter_wins=wanted.stricter_wins,
            require_agreement=wanted.require_agreement,
        )

    def prompt(self, name: str) -> Prompt:
        return load_prompt(
            name,
            folders=self._settings.prompt_folders,
            additional_constraints=self._job.additional_constraints,
            examples=self._job.examples,
            risk_level=self._job.risk_level,
        )

    def chat(self, model: str | None = None) -> Chat:
        """Return the client of a model, one for all judges, so that they share its pace and its limits."""
        refuse_model(self._settings)
        options = self._settings.openai
        name = model or options.model
        if not name:
            raise SetupError("openai.model: name the model in the config, since the engine is openai")
        if name not in self._chats:
            chosen = chat_options(self._settings)
            if name != options.model:
                # A fallback is the same model elsewhere, so that it is none for another model.
                update = {"model": name, "prices": prices_of(self._settings, name), "fallbacks": ()}
                chosen = chosen.model_copy(update=update)
            wiring = self.wiring
            self._chats[name] = (
                Rehearsal(chosen, price_factor=wiring.price_factor)
                if wiring.is_rehearsal
                else Chat(chosen, spending=wiring.spending, carrier=wiring.carrier(chosen), watch=wiring.watch)
            )
        return self._chats[name]


def hub_options(settings: Settings) -> HubOptions:
    """Return which detector is read, and how."""
    hub = settings.hub
    if not hub.model:
        raise SetupError("hub.model: name a detector or its folder in the config, since the engine is hub")
    return HubOptions(
        model=hub.model,
        revision=hub.revision,
        form=None if hub.form == "auto" else hub.form,
        threshold=hub.threshold,
        max_tokens=hub.max_tokens,
        batch=hub.batch,
        download=hub.download and not settings.local_only,
        run_code=hub.run_code,
    )


def chat_options(settings: Settings) -> ChatOptions:
    """Return how the configured model is reached and asked."""
    options = settings.openai
    return ChatOptions(
        base_url=options.base_url,
        model=options.model,
        api_key=options.api_key,
        max_tokens=options.max_tokens,
        context_window=options.context_window,
        api_version=options.api_version,
        timeout_s=options.timeout.total_seconds(),
        deadline_s=options.deadline.total_seconds(),
        attempts=options.attempts,
        concurrency=options.concurrency,
        seed=options.seed,
        patience_s=options.patience.total_seconds(),
        requests_per_minute=options.requests_per_minute,
        tokens_per_minute=options.tokens_per_minute,
        fallbacks=tuple(
            Address(
                base_url=fallback.base_url,
                model=fallback.model or options.model,
                api_key=fallback.api_key,
                api_version=fallback.api_version,
            )
            for fallback in options.fallbacks
        ),
        prices=prices_of(settings, options.model),
    )
