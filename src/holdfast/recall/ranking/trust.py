"""Pure: whose word a hit is, and which hits may not speak for the user.

What a user said about themselves holds over what a page, a tool or an assistant says about them, whenever it was said
and however near the question it is. So where a question is about the user and one of their own statements answers it,
everything else that would is hearsay: it stands after the user's statements, outdates none and answers nothing. What
documents say about anything else stays as good as any other knowledge.

A text that speaks in the first person or of "the user" makes a claim about the user. Such a claim is hearsay even where
the user's statement answers only in part, and where the question does not say whom it is about.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass

from holdfast.domain.ports.search import Proposals
from holdfast.domain.results import Hit
from holdfast.domain.types import SECOND_HAND_TRUST, Item, Message
from holdfast.recall.question.analysis import Question
from holdfast.recall.question.target import Target, names_in
from holdfast.recall.question.traits import NUMBER
from holdfast.recall.ranking.clauses import SELF, People, clauses_of, is_related, people_in
from holdfast.recall.ranking.fit import Fit, NearnessByText, best_fits
from holdfast.recall.ranking.fit_bounds import may_be_worth
from holdfast.recall.ranking.relevance import relevance

MAX_READ = 12
"""How many of the user's own hits are read for an answer, where others stand among them. Chosen by hand."""
ANSWERS, ANSWERS_IN_PART = 0.6, 0.35
"""How well a user's statement fits that answers (as `recency.TELLS`), and one that holds against claims about the user
alone. Of 38 everyday statements in other words than the question's all but four reach the second, no idle talk does
but where the question names nothing but a place."""
MIN_RELEVANCE = 0.5
"""How surely a user's statement is about the question that holds against such claims though it does not fit, or though
the question cannot be read: above the idle talk of the same trial."""
BARE_WORDS = 3
"""A question of so few words that asks for a personal trait of nobody asks for the user's."""
OWN, AGENT, SECOND_HAND = range(3)
_CLAIM = re.compile(
    r"\b(?:i|i'm|i've|i'd|i'll|my|me|mine|myself)\b|\b(?:the|this|our|your|current) user\b|\buser(?:'s\b|\s*[:=>|\]\"])"
    r"|\"user|<user",
    re.I,
)
_ADDRESSED = re.compile(r"\b(?:you|your|you'd|you've|assistant|chatbot)\b", re.I)
_VALUE = re.compile(r"(?:\b(?:is|are|am|was|were|called|named|with|at)\b|'s|'m|'re|:|=) *\S", re.I)


def standing(hit: Hit) -> int:
    """Whose word it is: the user's own or written on purpose, an agent's, or that of a document or a tool."""
    return _standing(hit.trust, hit.role, hit.sources)


def _standing(trust: str, role: str | None, sources: Sequence[str]) -> int:
    if trust in SECOND_HAND_TRUST:
        return SECOND_HAND
    return AGENT if (trust == "agent" and sources) or role == "assistant" else OWN


def _item_standing(item: Item) -> int:
    """The same for what a hit is made of."""
    if isinstance(item, Message):
        return _standing(item.role, item.role, ())
    return _standing(item.trust, None, item.sources)


def may_have_hearsay(question: Question, items: Sequence[Item], found: Proposals, compared: NearnessByText) -> bool:
    """Whether some of these may have to stand after others: False where `with_hearsay` would leave their hits alone."""
    standings = [_item_standing(item) for item in items]
    if not _may_have_hearsay(question, set(standings)):
        return False
    if SECOND_HAND in standings:
        return True
    own = [item for item, whose in zip(items, standings, strict=True) if whose == OWN]
    return _asks_about_author(question, own) and _may_have_whole_answer(question, own, found, compared)


def _asks_about_author(question: Question, own: Sequence[Item]) -> bool:
    """The same as `is_about_user` for the hits of these items."""
    if question.asks_about_user or _is_bare_trait(question):
        return True
    names = question.target.names
    if any(isinstance(item, Message) and item.role == "user" and _is_named(item.speaker, names) for item in own):
        return True
    return any(is_related(name, item.content) for name in names for item in own)


def _is_named(speaker: str | None, names: Set[str]) -> bool:
    return speaker is not None and not names.isdisjoint(speaker.casefold().split())


def _may_have_hearsay(question: Question, standings: Set[int]) -> bool:
    if OWN not in standings or len(standings) == 1 or question.asks_document:
        return False
    return SECOND_HAND in standings or (may_be_about_user(question) and not addresses_agent(question))


def may_outdate(newer: Hit, older: Hit) -> bool:
    """Whether the newer one's author may put the older one out of date."""
    return standing(newer) <= standing(older)


def addresses_agent(question: Question) -> bool:
    """Whether it asks the assistant for what it said or did: "What did you recommend to me?"."""
    return _ADDRESSED.search(question.text) is not None


def may_be_about_user(question: Question) -> bool:
    """Whether it asks about the user, as far as its words tell, or names somebody who may be."""
    return question.asks_about_user or bool(question.target.names) or _is_bare_trait(question)


def is_about_user(question: Question, known: People, user: Sequence[Hit]) -> bool:
    """Whether it asks about the user, or about somebody who is something to them; `user` are their own hits."""
    if question.asks_document:
        return False
    if question.asks_about_user:
        return True
    if _is_bare_trait(question):
        return True
    names = question.target.names
    spoken = any(hit.role == "user" and _is_named(hit.speaker, names) for hit in user)
    return spoken or any(known.also.get(name) for name in names)


def _is_bare_trait(question: Question) -> bool:
    target, words = question.target, question.text.split()
    return bool(target.traits) and len(words) <= BARE_WORDS and not target.names and not target.kin


def is_claim(hit: Hit, known: People) -> bool:
    """Whether a document, a tool or an assistant speaks as the user or of them."""
    if standing(hit) == OWN:
        return False
    text = hit.content.replace("’", "'")
    people = {known.alone, *known.also} if known.alone else set(known.also)
    words = set(re.findall(r"[\w-]+", text.casefold()))
    return _CLAIM.search(text) is not None or bool(people & words)


@dataclass(frozen=True, slots=True)
class OwnAnswers:
    """The user's own statements that answer a question."""

    ids: frozenset[str]
    whole: bool
    """Whether one of them answers all of it."""
    personal: bool
    """Whether one of them speaks of the user or of somebody who is something to them."""


def own_answers(
    question: Question, user: Sequence[Hit], known: People, model: str, compared: NearnessByText | None = None
) -> OwnAnswers:
    """Those of the user's own hits that answer."""
    target, user = question.target, user[:MAX_READ]
    near = {hit.id for hit in user if relevance(hit, model) >= MIN_RELEVANCE and not _asks(hit.content)}
    if not target.readable and not target.traits:
        return OwnAnswers(frozenset(near), bool(near), bool(near))
    nearer, others = [hit for hit in user if hit.id in near], [hit for hit in user if hit.id not in near]
    fits = best_fits(target, nearer, known, compared)
    fits += best_fits(target, others, known, compared, least=ANSWERS_IN_PART)
    read = [(hit, fit) for hit, fit in zip([*nearer, *others], fits, strict=True) if _may_answer(target, fit)]
    part = [hit for hit, fit in read if fit.worth >= ANSWERS_IN_PART or hit.id in near]
    whole = [hit for hit, fit in read if _answers_whole(target, fit)]
    return OwnAnswers(
        frozenset(hit.id for hit in (*part, *whole)), bool(whole), any(_is_personal(hit, known) for hit in whole)
    )


def _has_whole_answer(question: Question, user: Sequence[Hit], known: People, compared: NearnessByText | None) -> bool:
    """Whether `own_answers` finds one that answers all of a question: most find none, and then it is enough to look at
    the few clauses that may be worth so much."""
    target, user = question.target, user[:MAX_READ]
    if not target.readable and not target.traits:
        return True  # then it goes by relevance
    return any(_answers_whole(target, fit) for fit in best_fits(target, user, known, compared, least=ANSWERS))


def _may_have_whole_answer(question: Question, own: Sequence[Item], found: Proposals, compared: NearnessByText) -> bool:
    """Whether one of the user's own items may answer all of a question, as `_has_whole_answer` finds for their hits."""
    by_relevance = not question.target.readable and not question.target.traits
    return by_relevance or may_be_worth(ANSWERS, question, own, found, compared)


def _answers_whole(target: Target, fit: Fit) -> bool:
    return _may_answer(target, fit) and fit.worth >= ANSWERS and _tells_value(target, fit)


def _may_answer(target: Target, fit: Fit) -> bool:
    return fit.owned >= 0 and not _asks(fit.clause) and _may_hold_value(target, fit)


def with_hearsay(question: Question, hits: list[Hit], model: str, compared: NearnessByText | None = None) -> list[Hit]:
    """The hits, those that may not speak for the user marked and put after the user's statements that answer."""
    standings = [standing(hit) for hit in hits]
    if not _may_have_hearsay(question, set(standings)):
        return hits
    user = [hit for hit, whose in zip(hits, standings, strict=True) if whose == OWN]
    known = people_in(user)
    about_user = is_about_user(question, known, user)
    if SECOND_HAND not in standings and not (about_user and _has_whole_answer(question, user, known, compared)):
        return hits  # what an agent said stands
    found = own_answers(question, user, known, model, compared)
    if not found.ids:
        return hits
    marked = [
        hit.assessed(hearsay=True) if _is_hearsay(question, hit, known, found, about_user) else hit for hit in hits
    ]
    last = max(n for n, hit in enumerate(marked) if hit.id in found.ids)
    before, after = marked[: last + 1], marked[last + 1 :]
    return [
        *(hit for hit in before if not hit.assessment.hearsay),
        *(hit for hit in before if hit.assessment.hearsay),
        *after,
    ]


def _is_hearsay(question: Question, hit: Hit, known: People, found: OwnAnswers, about_user: bool) -> bool:
    whose = standing(hit)
    if whose == OWN:
        return False
    if whose == AGENT:
        return about_user and found.whole and not addresses_agent(question)
    if about_user and found.whole:
        return True
    return (about_user or (found.whole and found.personal)) and is_claim(hit, known)


def _may_hold_value(target: Target, fit: Fit) -> bool:
    """Whether the type of value asked for is there; a place or a person may be told by any name."""
    named = target.value in ("place", "person") and bool(_other_names(target, fit))
    return fit.typed >= 0 or named


def _tells_value(target: Target, fit: Fit) -> bool:
    """Whether it tells something, where any value would do: "our refund policy" is not told by who hates it."""
    told = target.value or _other_names(target, fit) or NUMBER.search(fit.clause) or _VALUE.search(fit.clause)
    return bool(told) or fit.told > 0


def _other_names(target: Target, fit: Fit) -> set[str]:
    return set(names_in(f"x {fit.clause}")) - target.names


def _is_personal(hit: Hit, known: People) -> bool:
    """Whether it speaks of the user or of somebody who is something to them."""
    return any(SELF in clause.owners or clause.owners & known.also.keys() for clause in clauses_of(hit, known))


def _asks(text: str) -> bool:
    return text.rstrip(" \"')").endswith("?")
