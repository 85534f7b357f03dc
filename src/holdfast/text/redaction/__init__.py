"""Replaces secrets in text, such as API keys, passwords and card numbers, and leaves the words around them. Pure.

Messages are stored verbatim. Everything that is made of them for a prompt, or leaves the machine, is redacted:
distilled memories, hits, contexts, answers, summaries, answers of MCP tools, requests to a language model, a reranker
or an embedder on a server.

    normalised_text  the text as the rules read it, without odd spaces, dashes and digits
    vendor_tokens  tokens that their issuer gave a form of its own
    named_values   values whose name announces a secret (labels, label_context, values, assigned_values)
    secret_words   what people tell in talk: a learned judgement of each word (word_features, sentence_context,
                   secret_nouns)
    text_formats   addresses, command lines (command_lines), SQL, headers
    numbers        cards, accounts, persons
    seed_phrases   the words that restore a wallet
    examples       what is only shown in place of a secret
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from holdfast.text.cache import cached_by_text
from holdfast.text.redaction import labels, secret_nouns, seed_phrases
from holdfast.text.redaction.normalised_text import ReadableText, Span, merged_spans, readable_text, word_set

REDACTION_MARK = "[redacted]"
MIN_TOKEN_CHARACTERS = 16
"""No issuer's token is shorter."""
_ABOUT_SECRETS = re.compile(
    r"\b(?:passwords?|passwd|passphrase|passcode|pwd|pin|credentials?|secret|api key|token|unlock)\b"
    r"|passwor[dt]|kennwort|mot de passe|contraseña|senha|wachtwoord|hasło|lösenord|şifre|парол|パスワード|密码",
    re.I,
)
_ABOUT_CODES = re.compile(r"\b(?:pin|passcode|code|combination|cvv|cvc|otp)\b", re.I)
_ABOUT_CARDS = re.compile(
    r"\b(?:cards?|visa|mastercard|amex|american express|maestro|cvv|cvc|kreditkarte|karte|carte|tarjeta|cartão"
    r"|cartao|carta"
    r"|kaart|creditcard|karta|kort|kartı?|карт[аыу])\b|カード|信用卡|银行卡|卡号|카드",
    re.I,
)
_STRICT = ("password", "short", "pin", "secret", "key", "token")
"""Sorts of labels that speak of secrets wherever they stand."""
_MIXED_TOKEN = re.compile(
    r"(?<![\w+/=:.-])(?=\w{0,63}[a-z])(?=\w{0,63}[A-Z])(?=\w{0,20}\d\w{0,20}[A-Za-z]\w{0,20}\d)\w{10,64}(?![\w+/=])"
)
"""Letters of both cases and digits in turn, as in no ordinary word."""
_ISSUED_ID = re.compile(r"[A-Z]{1,4}[0-9a-f]{24,}|(?:0x)?[0-9A-F]{8,40}")
_KEY_IS = re.compile(r"\bkey (?:is|was)\s{1,2}['\"`]?\Z", re.I)
_MIXED_SIGN = re.compile(r"\d[^\W\d]+\d")
_PASSWORD_LIKE = re.compile(
    r"(?<![\w./:@-])(?=[\w!@#$%^&*+=-]{0,63}\d)(?=[\w!@#$%^&*+=-]{0,63}[A-Za-z])[\w!@#$%^&*+=-]{8,64}(?![\w@])"
)
_BARE_CODE = re.compile(r"\s*#?\d{4,8}#?\s*\.?\s*")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_FRAME_WORDS = word_set(
    "the a an user user's users said asked answered says tell told that it its it's is was are were be been being and",
    "or of for to in on at as with by my your our their his her this these those has have had new old current same",
    "now number numbers no nr api access private bank card account value set changed reset uses use used called i we",
    "he she they you number's please remember der die das ist lautet mein meine le la les est mon ma el es mi o a é",
    "meu minha il è mio mia de het mijn",
)


class SurroundingTopics(NamedTuple):
    """What the messages around a text are about."""

    secrets: bool = False
    codes: bool = False
    cards: bool = False


NO_TOPICS = SurroundingTopics()


def surrounding_topics(around: str) -> SurroundingTopics:
    if not around or around.isspace():
        return NO_TOPICS
    return SurroundingTopics(
        speaks_of_secrets(around), _ABOUT_CODES.search(around) is not None, _ABOUT_CARDS.search(around) is not None
    )


def redacted_text(text: str, around: str = "") -> str:
    """The text with its secrets replaced by "[redacted]". Where the messages `around` it are about passwords,
    everything that looks like one is replaced too."""
    return redacted_among(text, surrounding_topics(around))


@cached_by_text
def redacted_among(text: str, around: SurroundingTopics) -> str:
    """The same for messages around it that were read already."""
    readable = readable_text(text)
    found = [*_secret_spans(readable, around)]
    if not found:
        return text
    from holdfast.text.redaction.examples import is_example

    spans = merged_spans(readable.original_span(span) for span in found if not is_example(readable, *span))
    parts, at = [], 0
    for start, stop in spans:
        parts += [text[at:start], REDACTION_MARK]
        at = stop
    return "".join([*parts, text[at:]])


def redacted_conversation(texts: Sequence[str]) -> list[str]:
    """The texts of a conversation without secrets; the one before may show that a bare word in a text is a password."""
    return [redacted_text(text, before) for text, before in zip(texts, ["", *texts], strict=False)]


def speaks_of_secrets(text: str) -> bool:
    """Whether the text is about passwords and the like, so that a bare word next to it may be one."""
    return _ABOUT_SECRETS.search(text) is not None


@cached_by_text
def may_be_secret(text: str) -> bool:
    """Whether something in the text looks like a password; only the messages around it can confirm that."""
    return _PASSWORD_LIKE.search(text) is not None or _BARE_CODE.fullmatch(text) is not None


_REDACTED_VALUE = re.compile(
    rf"(?:\b(?:is|are|was|were|be|to|as|lautet|ist|est|es|è)|[:=]|'s)\s*[\"'`]*{re.escape(REDACTION_MARK)}", re.I
)
_BEYOND_SECRETS = re.compile(r"[,;.]\s+\S+\s+\S+\s+\S+|\band\b.+\b(?:is|are)\b")


def is_only_redacted(text: str) -> bool:
    """Whether a redacted text says only that there was a secret: "The user's password is [redacted]."."""
    if REDACTION_MARK not in text:
        return False
    if _REDACTED_VALUE.search(text) and not _BEYOND_SECRETS.search(text.replace(REDACTION_MARK, "x")):
        return True
    rest = readable_text(text.replace(REDACTION_MARK, " ")).low
    return all(word in _FRAME_WORDS for word in _WORD.findall(labels.without_labels(rest)))


def _secret_spans(readable: ReadableText, around: SurroundingTopics) -> Iterator[Span]:
    """Where secrets stand. Looking for a plain substring first takes a tenth of the time: every hit is redacted."""
    text, low = readable.text, readable.low
    digits = sum(map(text.count, "0123456789"))
    longest = max(map(len, text.split()), default=0)
    named = labels.label_spans(low)
    # Patterns are compiled when a module is imported, which takes longer than most texts; so each waits for its turn.
    if longest >= MIN_TOKEN_CHARACTERS:
        from holdfast.text.redaction import vendor_tokens

        yield from vendor_tokens.vendor_token_spans(text, low)
    if named:
        from holdfast.text.redaction import named_values

        yield from named_values.named_value_spans(readable, named)
    if secret_nouns.may_tell_secret(text, low):
        from holdfast.text.redaction import secret_words

        yield from secret_words.secret_word_spans(readable)
    if longest > 3:
        from holdfast.text.redaction import text_formats

        yield from text_formats.placed_spans(text, low, bool(named))
    if digits:
        from holdfast.text.redaction import numbers

        about_cards = around.cards or (digits >= numbers.MIN_CARD_DIGITS and _ABOUT_CARDS.search(text) is not None)
        yield from numbers.number_spans(text, low, digits, about_cards)
        yield from _bare_secrets(readable, around, digits, any(sort in _STRICT for *_, sort in named))
    if any(map(low.__contains__, seed_phrases.SIGNS)):
        yield from seed_phrases.seed_phrase_spans(text)


def _bare_secrets(readable: ReadableText, around: SurroundingTopics, digits: int, named: bool) -> Iterator[Span]:
    """Words that nothing but the talk around them shows to be secrets."""
    text = readable.text
    if digits > 1 and (named or "key" in readable.low) and _MIXED_SIGN.search(text):
        from holdfast.text.redaction import values

        for m in _MIXED_TOKEN.finditer(text):
            if _ISSUED_ID.fullmatch(m[0]):
                continue
            if values.is_dense(m[0]) and (named or _KEY_IS.search(text, max(0, m.start() - 20), m.start())):
                yield m.span()
    if around.secrets:
        yield from (m.span() for m in _PASSWORD_LIKE.finditer(text))
    if around.codes and (code := _BARE_CODE.fullmatch(text)) is not None:
        yield code.start() + len(text) - len(text.lstrip()), len(text.rstrip(". \n"))
