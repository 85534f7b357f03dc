"""Words a finding so that its messages prove it: in the rules' words where these stand together, or as a quotation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from holdfast.models.rules.conversation import SourcedFinding
from holdfast.models.rules.findings.finding import RuleFinding
from holdfast.models.rules.people.third_person import USER_NAME, with_own_words
from holdfast.text.content_words import content_words
from holdfast.text.elided_subject import may_speak_of_another
from holdfast.text.faithfulness import has_words, is_proved, missing_words, quotation, quoted_words
from holdfast.text.lexicon.sentences import AFTER_SENTENCE
from holdfast.text.values import value_type, values
from holdfast.text.wording.well_formed import QUOTED, is_well_formed
from holdfast.text.wording.word_runs import stand_together

_POINTS_TO_SOMEONE = re.compile(r"(?:he|she|they|it|his|her|their|its)(?:'\w+)?\b", re.I)
_THEY = re.compile(r"\b(?:they|them|their|theirs|themselves)\b", re.I)
_FIRST_PERSON = re.compile(r"\b(?:i|im|ive|me|my|mine|myself|we|us|our|ours|ourselves)\b", re.I)
_ANSWERED = re.compile(r'(?P<asked>(?:Asked|Told) ".*", [^"]{1,80}? answered): (?P<said>[^"]*)', re.S)
_LAST_VERB = re.compile(r"(?:['’]s|\s+(?:is|was|has|had|are|were|have|does|did|will|can))+$")
_ENDS = re.compile(r"\W*$|[,.]|\s(?:\(|(?:and|for|seat)\b)")
"""What may follow a value in quotation marks."""
MAX_OWNER_WORDS = 6
"""Maximum words that name of whom something was said. Chosen by hand; not measured."""
MAX_MARKED_WORDS = 3
"""Maximum words of another message that are put in quotation marks among those of the first. Chosen by hand."""


@dataclass(frozen=True, slots=True)
class _Evidence:
    """The texts of a finding's sources, all that was heard until then, and the names of the speakers."""

    cited: Sequence[str]
    heard: Sequence[str]
    names: frozenset[str]

    def has_runs(self, content: str) -> bool:
        return stand_together(content, self.cited, self.heard, self.names)


def proved_finding(finding: RuleFinding, note: SourcedFinding) -> tuple[RuleFinding, tuple[str, ...]]:
    """The finding and its sources, such that the sources prove its words; what cannot be proved is quoted.

    A person who is only named in an earlier message makes that message a source.
    """
    texts = {message.id: message.content for message in note.heard}
    sources = note.sources
    evidence = _Evidence(
        [texts[source] for source in sources if source in texts],
        [*texts.values()],
        frozenset(message.speaker for message in note.heard if message.speaker),
    )
    if not is_proved(finding.content, evidence.cited, evidence.names) and (more := _named_before(finding, note)):
        sources = (more, *sources)
        evidence = replace(evidence, cited=[texts[more], *evidence.cited])
    if not _hides_author(finding, note) and is_proved(finding.content, evidence.cited, evidence.names):
        for content in _wordings(finding, note, evidence):
            if evidence.has_runs(content):
                return replace(finding, content=content), sources
    return _quoted_finding(finding, note), note.sources[-1:]


def _hides_author(finding: RuleFinding, note: SourcedFinding) -> bool:
    """Whether "they" is the author, whom the statement about somebody else does not name: "Ana wants ochre, they want
    white"."""
    content, author = finding.content, note.author.inline
    if '"' in content or author.casefold() in content.casefold() or not _THEY.search(content):
        return False
    own = _quotation_of(finding, note)
    return _FIRST_PERSON.search(own) is not None and not _THEY.search(own)


def _named_before(finding: RuleFinding, note: SourcedFinding) -> str | None:
    """The id of the earlier message that has the words which the finding's own ones lack."""
    texts = {message.id: message.content for message in note.heard}
    cited = [texts[source] for source in note.sources if source in texts]
    names = {message.speaker for message in note.heard if message.speaker}
    if not is_well_formed(finding.content) or not (missing := missing_words(finding.content, cited, names)):
        return None
    for message in note.heard[-2::-1]:
        if has_words(message.content, missing) and is_proved(finding.content, [message.content, *cited], names):
            return message.id
    return None


def _wordings(finding: RuleFinding, note: SourcedFinding, evidence: _Evidence) -> Iterator[str]:
    """The finding in its author's words, in the rules' words, with its value in quotation marks, as said of someone,
    and with what another message corrects in quotation marks."""
    content = finding.content
    if QUOTED.fullmatch(content):
        yield content
        return
    own = with_own_words(content, " ".join(evidence.cited))
    if own != content and is_proved(own, evidence.cited, evidence.names):
        yield own
    yield content
    if '"' in content:
        answered = _ANSWERED.fullmatch(content)
        if answered and (reply := _reply(answered["said"], evidence.cited[-1])):
            yield f'{answered["asked"]}: "{reply}"'
        return
    value = finding.value
    if finding.topic and value and _ENDS.match(content.partition(value)[2]):
        if any(value in text for text in evidence.cited):
            yield content.replace(value, f'"{value}"', 1)
    if said := _said_of_someone(finding, note, evidence):
        yield said
    if len(evidence.cited) > 1:
        yield from _joined_wordings(finding, note, evidence.cited)


def _joined_wordings(finding: RuleFinding, note: SourcedFinding, cited: Sequence[str]) -> Iterator[str]:
    """What two messages say together: a statement with its correction, or a question with its answer."""
    if marked := _with_marked_words(finding.content, cited):
        yield marked
    if finding.rule == "correction" and (corrected := _corrected_quotation(finding, note, cited[0])):
        yield corrected
    asked = AFTER_SENTENCE.split(cited[0].strip())[-1].replace('"', "'")
    if asked.endswith("?") and (own := _reply(cited[-1], cited[-1])):
        dates = "".join(quoted_words(finding.content)[1])
        yield f'Asked "{asked}", {note.author.inline} answered: "{own}"{dates}' + ("." if dates else "")


def _corrected_quotation(finding: RuleFinding, note: SourcedFinding, message: str) -> str | None:
    """The author's words in the message with the value that was corrected; None where it has several such values."""
    quoted = QUOTED.fullmatch(quotation(note.author.name, finding.content, message, message))
    old = [v for v in values(quoted["said"]) if v.type == value_type(finding.value)] if quoted else []
    if not quoted or len(old) != 1:
        return None
    said, (value,) = quoted["said"], old
    dates = "".join(quoted_words(finding.content)[1])
    return f'According to {note.author.inline}: {said[: value.start]}"{finding.value}"{said[value.end :]}{dates}.'


def _reply(said: str, message: str) -> str | None:
    """The reply as it was written: its words in the message, with those that were left out."""
    quoted = QUOTED.fullmatch(quotation(USER_NAME, said, message, message))
    return quoted["said"] if quoted else None


def _with_marked_words(content: str, cited: Sequence[str]) -> str | None:
    """The content with the value that the last message corrects in quotation marks: 'receipt RX "8843"'."""
    told, body = {word.stem for word in content_words(" ".join(cited[:-1]))}, content.split(" (")[0]
    new = [word for word in content_words(body) if word.stem not in told]
    if not new:
        return None
    start, end = new[0].start, new[-1].end
    for value in values(body):
        if value.start <= start < value.end or value.start < end <= value.end:
            start, end = min(start, value.start), max(end, value.end)
    marked = body[start:end]
    if len(marked.split()) > MAX_MARKED_WORDS or marked not in cited[-1]:
        return None
    return f'{content[:start]}"{marked}"{content[end:]}'


def _said_of_someone(finding: RuleFinding, note: SourcedFinding, evidence: _Evidence) -> str | None:
    """A quotation that begins with a pronoun, with the name of whom or what it speaks of."""
    quoted = QUOTED.fullmatch(_quotation_of(finding, note))
    if not quoted or not _POINTS_TO_SOMEONE.match(quoted["said"]) or '"' in finding.content:
        return None
    first = next(iter(content_words(quoted["said"])), None)
    begin = next((w.start for w in content_words(finding.content) if first and w.stem == first.stem), 0)
    name = _LAST_VERB.sub("", finding.content[:begin].strip())
    own = f"{note.author.owner} "
    bare = re.compile(rf"(?<!\w){re.escape(name.removeprefix(own))}(?!\w)", re.I)
    if not name or len(name.split()) > MAX_OWNER_WORDS or re.search(r'[":]', name):
        return None
    if not any(bare.search(text) for text in evidence.cited):
        return None
    who = name.replace(own, "their ", 1)
    end = "." if quoted["dates"] else ""
    return f'{note.author.name} said of {who}: "{quoted["said"]}"{quoted["dates"]}{end}'


def _quoted_finding(finding: RuleFinding, note: SourcedFinding) -> RuleFinding:
    """The finding in its author's words; it keeps its topic where it is sure to be the author's, and its value stands
    in what is quoted."""
    content = _quotation_of(finding, note)
    own = _own_message(note)
    misread = may_speak_of_another(finding.content, own) or finding.value.casefold() not in own.casefold()
    return replace(finding, content=content, topic=None if misread else finding.topic)


def _quotation_of(finding: RuleFinding, note: SourcedFinding) -> str:
    return quotation(note.author.name, finding.content, note.setting.sentence, _own_message(note))


def _own_message(note: SourcedFinding) -> str:
    return note.heard[-1].content if note.heard else note.setting.message
