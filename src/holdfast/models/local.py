"""The embedders that ship in the wheel. Weights load at first use; nothing is ever downloaded.

`ArcticEmbedder` (snowflake-arctic-embed-s, int8) is the default; `PotionEmbedder` (potion-base-8M, static vectors) is
two hundred times cheaper and finds less. docs/results has the figures.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from holdfast.domain.types import Floats

if TYPE_CHECKING:
    from holdfast.domain.ports.models import ReadAnswer, ReadPassage
    from holdfast.models.answer_reader import NetworkAnswerReader
    from holdfast.models.question_encoder import QuestionEncoder
    from holdfast.models.rules.judge import ReadableSentence
    from holdfast.models.statement_reader import StatementReader
    from holdfast.text.supersession import EndingCandidate, ReadEnding
    from holdfast.text.wordpiece import WordPiece

Given = TypeVar("Given")
Result = TypeVar("Result")

_BATCH_TEXTS, _BATCH_TOKENS = 16, 512
"""Maximum texts and tokens in one batch of the network. Short texts are faster in a batch; beyond a
passage's length, the working memory of a batch exceeds the cache: 16 passages took twice the time and four
times the memory of one by one."""
_RUN_TOKENS = 11
"""What a run of the network costs besides its tokens, in tokens: a text of 8 tokens took 2.97 ms alone and 1.31 ms in a
batch of 16. A longer text starts a new batch where padding the shorter ones to its length would cost more."""
_STEP_TEXTS = 8
"""Texts of one step of background work. A step is what other work waits for: work of other profiles comes between."""
_STEP_CHARACTERS = 1_200
"""Characters of a few texts that are embedded in one step, about 50 ms. With passages of long messages in one step, a
search beside a neighbour's long ingest took 3.4 times as long as alone, in place of at most 3."""
_STEP_STATIC_TEXTS = 64
"""The same for static vectors, which take a hundredth of a network's time."""
_questions = ThreadPoolExecutor(1, "holdfast-question")
_work = ThreadPoolExecutor(1, "holdfast-model")
"""One thread for what somebody waits for and one for background work, so that no question waits for a batch of
passages. Both use networks with one thread each: with two, and BLAS's own, two shared cores were up to 25 times slower.
"""


class ArcticEmbedder:
    """384 dimensions, 512 tokens, the state of the CLS token. Questions have an encoder of their own."""

    model = "local/snowflake-arctic-embed-s-int8/384"
    prefix = "Represent this sentence for searching relevant passages: "
    """What the network's makers put before a question. It is for comparing: the encoder of questions needs none."""
    _longest = 510

    def __init__(self) -> None:
        self._loading = threading.Lock()
        self._loaded: Any = None

    async def embed(self, texts: Sequence[str]) -> list[Floats]:
        if len(texts) <= _STEP_TEXTS and sum(map(len, texts)) <= _STEP_CHARACTERS:
            return await _run(_work, self._text_vectors, texts)
        ids = await _in_steps(lambda some: list(map(self._token_ids, some)), texts)
        vectors: dict[int, Floats] = {}
        for batch in length_batches([len(each) for each in ids]):
            vectors |= zip(batch, await _run(_work, self._vectors, [ids[n] for n in batch]), strict=True)
        return [vectors[n] for n in range(len(texts))]

    async def embed_query(self, text: str) -> Floats:
        return await _run(_questions, lambda: self._question_encoder.vector(self._token_ids(text)))

    async def read_endings(self, text: str, before: str, candidates: Sequence[EndingCandidate]) -> list[ReadEnding]:
        """Implements the reader of text/supersession.py: the same layers, trained to find what a message ends."""
        return await _run(_work, lambda: self._reader.endings(text, before, candidates))

    async def classes(self, sentences: Sequence[ReadableSentence]) -> list[Floats]:
        """Implements the reader of rules/judge.py: the same layers, trained to read a sentence in its context."""
        return await _in_steps(lambda some: [self._reader.classes(sentence) for sentence in some], sentences)

    async def read_answer(self, question: str, asked: date, passages: Sequence[ReadPassage]) -> ReadAnswer:
        """Implements the reader of answers: the same layers, trained to find what answers a question."""
        return await _run(_questions, lambda: self._answer_reader.read(question, asked, passages))

    @cached_property
    def _question_encoder(self) -> QuestionEncoder:
        from holdfast.models.question_encoder import QuestionEncoder

        return QuestionEncoder()

    @cached_property
    def _answer_reader(self) -> NetworkAnswerReader:
        from holdfast.models.answer_reader import NetworkAnswerReader

        return NetworkAnswerReader()

    @cached_property
    def _reader(self) -> StatementReader:
        from holdfast.models.statement_reader import StatementReader

        return StatementReader()

    @cached_property
    def _pieces(self) -> WordPiece:
        from holdfast.text.static_vectors import weights_path
        from holdfast.text.wordpiece import load_wordpiece

        return load_wordpiece(weights_path("arctic-embed-s/vocab.txt"))

    @property
    def _session(self) -> Any:
        """The network, loaded once: both threads may want it at the same moment."""
        with self._loading:
            if self._loaded is None:
                from holdfast.models.network_cache import networks
                from holdfast.text.static_vectors import weights_path

                path = weights_path("arctic-embed-s/model.onnx")
                self._loaded = networks.load_session(
                    "embedder", [path], short_text_options, lambda options: inference_session(str(path), options)
                )
            return self._loaded

    def _token_ids(self, text: str) -> list[int]:
        pieces = self._pieces
        return [pieces.start, *pieces.ids(text)[: self._longest], pieces.end]

    def _text_vectors(self, texts: Sequence[str]) -> list[Floats]:
        """The vectors of a few texts, in one step."""
        ids = [self._token_ids(text) for text in texts]
        vectors: dict[int, Floats] = {}
        for batch in length_batches([len(each) for each in ids]):
            vectors |= zip(batch, self._vectors([ids[n] for n in batch]), strict=True)
        return [vectors[n] for n in range(len(texts))]

    def _vectors(self, ids: list[list[int]]) -> list[Floats]:
        """The vectors of one batch."""
        import numpy as np

        longest = max(map(len, ids))
        tokens = np.array([each + [0] * (longest - len(each)) for each in ids], np.int64)
        mask = np.array([[1] * len(each) + [0] * (longest - len(each)) for each in ids], np.int64)
        inputs = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
        return list(_unit_rows(self._session.run(None, inputs)[0][:, 0]))


class PotionEmbedder:
    """256 dimensions: the mean of static token vectors."""

    model = "local/potion-base-8M/256"

    async def embed(self, texts: Sequence[str]) -> list[Floats]:
        return await _in_steps(self._vectors, texts, step=_STEP_STATIC_TEXTS)

    async def embed_query(self, text: str) -> Floats:
        return (await _run(_questions, self._vectors, [text]))[0]

    def _vectors(self, texts: Sequence[str]) -> list[Floats]:
        import numpy as np

        from holdfast.text import static_vectors

        pieces = static_vectors.vocabulary()
        means = []
        for text in texts:
            ids = [id for id in pieces.ids(text) if id != pieces.unknown]
            means.append(static_vectors.vector_table()[ids or [pieces.unknown]].mean(0))
        return list(_unit_rows(np.array(means)))


async def _run(executor: ThreadPoolExecutor, act: Callable[..., Result], *given: Any) -> Result:
    return await asyncio.get_running_loop().run_in_executor(executor, act, *given)


async def _in_steps(
    act: Callable[[Sequence[Given]], list[Result]], given: Sequence[Given], step: int = _STEP_TEXTS
) -> list[Result]:
    """What `act` gives for all, as background work, a few at a time."""
    found: list[Result] = []
    for start in range(0, len(given), step):
        found += await _run(_work, act, given[start : start + step])
    return found


def length_batches(lengths: list[int]) -> Iterator[list[int]]:
    """Yields the positions of the texts of each batch: texts of similar length, so that there is little padding."""
    batch: list[int] = []
    for n in sorted(range(len(lengths)), key=lengths.__getitem__):
        full = len(batch) == _BATCH_TEXTS or (len(batch) + 1) * lengths[n] > _BATCH_TOKENS
        if batch and (full or len(batch) * (lengths[n] - lengths[batch[-1]]) > _RUN_TOKENS):
            yield batch
            batch = []
        batch.append(n)
    if batch:
        yield batch


def _unit_rows(rows: Floats) -> Floats:
    import numpy as np

    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(norms, 1e-12), np.float32)


def inference_session(network: str | bytes, options: Any) -> Any:
    """A session of a network, given as its file or as the bytes of one."""
    from holdfast.models.network_cache import load_onnxruntime

    return load_onnxruntime().InferenceSession(network, options, providers=["CPUExecutionProvider"])


def short_text_options() -> Any:
    """Options for a network that a command runs once, on one question."""
    from holdfast.models.network_cache import networks

    options = session_options()
    if networks.few_runs:
        # To arrange the weights for faster runs takes as long as ten of them.
        options.add_session_config_entry("session.disable_prepacking", "1")
    return options


def session_options() -> Any:
    """Options of a local network's session: one thread, no logs, little memory."""
    from holdfast.models.network_cache import load_onnxruntime

    options = load_onnxruntime().SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # The arena keeps the largest batch's memory permanently; without it, a resident service stays half the size.
    options.enable_cpu_mem_arena = False
    return options
