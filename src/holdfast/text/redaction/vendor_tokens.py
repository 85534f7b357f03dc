"""Finds tokens that their issuer gave a form of its own: a known prefix, a webhook's address, a private key's frame.

Each form is looked for only where its sign, a piece of plain text that is always in it, occurs.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from functools import cache

from holdfast.text.redaction.normalised_text import Span, any_of


def _prefixes(words: str) -> list[str]:
    return ["FlyV1 "] if words == "FlyV1 " else words.split()


_ISSUED = (
    # what follows the prefix, the prefixes
    (r"[\w-]{16,250}", "sk- sk_ rk_ pplx- nvapi- tgp_v1_ jina_ tvly- xai- gsk_ r8_ pcsk_"),
    (r"(?:pt|sk)_\w{32,64}", "lsv2_"),
    (r"[A-Za-z0-9]{20,64}", "hf_ api_org_"),
    (r"[\w-]{30,50}", "AIza"),
    (r"\w{16,255}", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ CCIPAT_ ctp_ cfut_ rnd_ napi_ vcp_ vca_ vck_ vci_ vcr_"),
    (r"[\w.-]{16,320}", "glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct- glrtr- glwt-"),
    (r"[\w-]{20}", "GR1348941"),
    (r"[\w=-]{20,300}", "ATTA ATATT3 ATCTT3 ATSTT3 ATOA ATBB BBDC- HRKU-"),
    (r"[A-Za-z0-9]{30,50}", "npm_ lin_api_ lin_oauth_ ntn_ pnu_ nfp_ nfc_ nfo_ nfb_ nfu_ ddp_ dda_"),
    (r"[\w-]{40,1000}", "pypi-"),
    (r"[a-f0-9]{32,80}", "rubygems_ sqa_ sqp_ squ_ pul- dkea bkua_ mlsn."),
    (r"[a-f0-9]{40,64}", "dop_v1_ doo_v1_ dor_v1_"),
    (r"[a-z0-9]{40,80}", "oy2 CLOJARS_ rdme_"),
    (r"[\w-]{20,80}", "dckr_pat_ dckr_oat_ sbp_ sb_secret_ figd_ hcaik_ hcxik_ phx_ fo1_ sgp_ tfp_ vercel_blob_rw_"),
    (r"[A-Za-z0-9]{50,80}", "AKCp cmVmd EZAK EZTK"),
    (r"[\w+/=-]{32,1000}", "glc_ fm1r_ fm1a_ fm2_ sntrys_ sntryu_ ops_eyJ bedrock-api-key-"),
    (r"[\w+/=,-]{20,1000}", "FlyV1 "),
    (r"[A-Za-z0-9]{20,40}_[A-Fa-f0-9]{8}", "glsa_"),
    (r"[A-Z0-9]{16}\b", "AKIA ASIA ABIA ACCA"),
    (r"[A-Za-z0-9+/]{100,270}={0,2}", "ABSK"),
    (r"[A-Za-z0-9]{12,36}\b", "LTAI AKID"),
    (r"[\w-]{16,64}", "GOCSPX-"),
    (r"[\w-]{20,1000}", "ya29. 1//0 hvs. hvb. hvr. sl."),
    (r"[a-f0-9]{32}(?:-\d)?\b", "dapi key- SK"),
    (r"[\w.-]{20,80}", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit. pscale_tkn_ pscale_oauth_ pscale_pw_"),
    (r"[\w-]{16,80}", "tskey-auth- tskey-api- tskey-client- tskey-webhook-"),
    (r"[A-Z0-9]{6}-[A-Z0-9-]{20,40}", "A3-"),
    (r"[a-f0-9]{24}-[a-f0-9]{100,160}", "v1.0-"),
    (r"[\w-]{40,50}", "sha256~"),
    (r"\.[A-Z0-9]{24}\.[A-Z0-9]{64}", "dt0c01 dt0s01 dt0s02 dt0s16"),
    (
        r"[A-Za-z0-9.-]{10,300}",
        "xoxa- xoxb- xoxc- xoxd- xoxe- xoxe.xoxp- xoxe.xoxb- xoxo- xoxp- xoxr- xoxs- xapp- xwfp-",
    ),
    (r"[\w-]{16,32}\.[\w-]{30,64}", "SG."),
    (r"[a-f0-9]{40,64}-\w{10,20}", "xkeysib- xsmtpsib-"),
    (r"[A-Za-z0-9]{6,10}_[A-Za-z0-9]{16,40}", "re_"),
    (r"[A-Za-z0-9]{40,50}\b", "secret_"),
    (r"[A-Za-z0-9]{14}\.[a-f0-9]{40,64}", "pat"),
    (r"[a-f0-9]{24}-[a-f0-9]{30,40}", "PMAK-"),
    (
        r"[a-f0-9-]{36}",
        "pat-na1- pat-na2- pat-eu1- access-sandbox- access-development- access-production- sdk- mob- api-",
    ),
    (r"[A-Za-z0-9_-]{40,400}", "EAAA EAAC EAAM EAAB EAAG EAAD IGQV A21AA fio-u-"),
    (r"[A-Za-z0-9%]{60,120}", "AAAAAAAAAAAAAAAAAAAAA"),
    (r"[A-Za-z0-9+/]{40,80}={0,2}", "dG9rO"),
    (r"[\w=-]{40,50}", "duffel_test_ duffel_live_"),
    (r"[A-Za-z0-9+/=_-]{16,200}", "whsec_"),
    (r"[a-fA-F0-9]{32,64}", "shpat_ shpca_ shppa_ shpss_ shptka_ shippo_live_ shippo_test_ live_ test_"),
    (r"[\w-]{20,60}", "sq0atp- sq0csp- sq0idp- sq0isp- FLWSECK- FLWSECK_TEST-"),
    (r"\$[a-z0-9]{16}\$[a-f0-9]{32}", "access_token$production access_token$sandbox"),
    (r"[\w-]{16,40}", "NRAK- NRAL- NRII- NRJS- NRRA-"),
    (r"[\w-]{8,2000}\.[\w-]{8,4000}(?:\.[\w-]{0,2000}){1,3}", "eyJ"),
    (r"[A-Z0-9]{40,2500}", "AGE-SECRET-KEY-1 AGE-SECRET-KEY-PQ-1"),
    (r"[A-Za-z0-9]{90,120}", "xprv yprv zprv"),
    (r"[a-z0-9]{50,64}\b", "nsec1"),
    (r"[A-Za-z0-9+/=]{60,300}", "RWRTY0Iy RWQAAEIy"),
    (r"[A-Za-z0-9+/=\s]{40,8000}", "b3BlbnNzaC1rZXktdjE"),
    (
        r"[A-Za-z0-9+/=]{8,12000}",  # a private key's frame, once more in base64
        "LS0tLS1CRUdJTiBSU0EgUFJJVkFUR LS0tLS1CRUdJTiBQUklWQVRF LS0tLS1CRUdJTiBFQyBQUklW LS0tLS1CRUdJTiBPUEVOU1NI"
        " LS0tLS1CRUdJTiBFTkNSWVBURUQ LS0tLS1CRUdJTiBQR1AgUFJJ",
    ),
)
"""Tokens that begin with a prefix of their issuer's."""
_PREFIXED = {prefix: re.escape(prefix) + body for body, prefixes in _ISSUED for prefix in _prefixes(prefixes)}
_PREFIXES: dict[str, list[str]] = {}
for _prefix in sorted(_PREFIXED, key=len):
    _PREFIXES.setdefault(next((each for each in _PREFIXES if _prefix.startswith(each)), _prefix), []).append(_prefix)
_PREFIX = re.compile(any_of(_PREFIXES))
_MARKED = {
    "Q~": r"(?<![\w~.-])[\w~.]{3}\dQ~[\w~.-]{31,36}",  # Azure's client secrets
    ":AA": r"(?<!\d)\d{7,12}:AA[\w-]{30,36}",  # Telegram's bots
    "-us": r"(?<![A-Za-z0-9])[a-f0-9]{32}-us\d{1,2}\b",  # Mailchimp
    ".atlasv1.": r"\b[A-Za-z0-9]{10,20}\.atlasv1\.[\w-]{40,80}",  # Terraform's cloud
    "_mmk": r"\b[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk",  # MaxMind
    "FFFFNRAL": r"[a-f0-9]{32}FFFFNRAL",  # New Relic's licences
    # hashes of passwords
    "$": r"(?<![\w$])\$(?:apr1|2[abxy]|[156y]|argon2(?:id|i|d)|scrypt|pbkdf2-sha\d{1,3})\$[\w./$=,+-]{20,200}",
    "snyk_": r"snyk_\w{3}\.[\w.-]{20,120}",
    "IBADANBgkqhkiG9w0BAQEFAAS": r"MII[A-Za-z0-9+/]{2,4}IBADANBgkqhkiG9w0BAQEFAAS[A-Za-z0-9+/=\s]{40,8000}",
    "otpauth://": r"(?<=secret=)[A-Za-z2-7]{16,64}",
    "sig=": r"(?<=[?&;]sig=)[\w%+/=.-]{20,200}",  # Azure's shared access signatures
}
"""Tokens with a mark of their issuer's inside, or after."""
_ADDRESSES = {
    "hooks.slack": r"(?<=hooks\.slack\.com/)(?:services|workflows|triggers)/[\w/-]{16,200}",
    "hooks.slack-gov": r"(?<=hooks\.slack-gov\.com/)(?:services|workflows|triggers)/[\w/-]{16,200}",
    "/api/webhooks/": r"(?<=/api/webhooks/)\d{5,25}/[\w-]{20,120}",
    "webhook.office.com/": r"(?<=webhook\.office\.com/)webhookb2/[\w@/-]{20,300}",
    "outlook.office": r"(?<=/webhook/)[\w@/-]{30,300}",
    "hooks.zapier": r"(?<=hooks\.zapier\.com/hooks/)(?:catch|standard)/[\w/-]{6,100}",
    "maker.ifttt": r"(?<=/with/key/)[\w-]{10,80}",
    ".make.com/": r"(?<=\.make\.com/)[a-z0-9]{20,60}\b",
    "integromat": r"(?<=hook\.integromat\.com/)[a-z0-9]{20,60}\b",
    "/bot/v2/hook/": r"(?<=/bot/v2/hook/)[\w-]{20,60}",
    "webhook.site": r"(?<=webhook\.site/)[0-9a-f-]{36}",
    "pipedream.net": r"(?<=://)[a-z0-9]{12,24}(?=\.m\.pipedream\.net)",
    "rocket.chat": r"(?<=/hooks/)[A-Za-z0-9/]{30,100}",
    "/hooks/": r"(?<=/hooks/)(?=[\w/-]{0,80}\d)[A-Za-z0-9][\w-]{19,100}(?:/[\w-]{6,100})?",
    "hc-ping": r"(?<=hc-ping\.com/)[0-9a-f-]{36}",
    "/webhook/": r"(?<=/webhook/)(?=[\w-]{0,60}\d)[\w-]{20,100}\b",
    "/webhooks/": r"(?<=/webhooks/)(?=[\w/-]{0,60}\d)[\w-]{20,100}(?:/[\w-]{6,100})?",
    "api.telegram": r"(?<=/bot)\d{7,12}:[\w-]{30,40}",
    "/private-": r"(?<=/private-)[0-9A-Za-z]{16,64}\b",
}
_SHAPED = (
    r"(?<![\w.-])[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40}(?![\w-])",  # Discord's bots: an id, a time, a signature
    r"(?<![\w.-])(?:pat|sat)\.[\w-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}",  # Harness
    r"(?<![\w|])\d{15,16}\|[\w-]{27,40}(?!\w)",  # Facebook's apps
)
_KEY_SHAPED = (
    r"(?<![\w-])[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![\w-])",  # Mailgun
    r"(?<![\w-])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}:fx(?!\w)",  # DeepL
    r"(?<![\d-])\d{6}(?:-\d{6}){7}(?![\d-])",  # BitLocker's recovery keys
    r"(?<![\w+/=.-])(?:5[HJK][1-9A-HJ-NP-Za-km-z]{49}"
    r"|[KL][1-9A-HJ-NP-Za-km-z]{51})(?![\w+/=-])",  # wallets' import form
    r"(?<![\w+/=.-])S[A-Z2-7]{55}(?![\w+/=-])",  # Stellar's seeds
)
"""Keys without a prefix that their length and letters show."""
MIN_SHAPED_CHARACTERS = 39
_HEX_KEY = re.compile(r"(?<![\w+/=.:-])(?:0x)?[0-9a-fA-F]{64}(?![\w+/=-]|\.\w)")
_ABOUT_KEYS = ("private", "wallet", "metamask", "signer", "spend key", "view key", "deployer", "secret")
_NO_KEY_BEFORE = re.compile(
    r"hash|\btx|transaction|txid|sha-?256|sha\b|checksum|digest|commit|block|finger|public|address|root"
)
_BYTE_LIST = re.compile(r"\[\s{0,8}\d{1,3}(?:,\s{0,8}\d{1,3}){63}\s{0,8}\]")
"""A key pair as a list of bytes, as Solana's files have it."""
_LICENCE = re.compile(r"(?<![\w-])(?=[A-Z\d-]{0,28}\d)(?=[A-Z\d-]{0,28}[A-Z])[A-Z\d]{5}(?:-[A-Z\d]{5}){3,4}(?![\w-])")
_LETTERS_ONLY = ("hf_", "api_org_", "AKIA", "ASIA", "ABIA", "ACCA", "oy2", "secret_", "eyJ")
"""Prefixes after which a token may have no digit."""
_STYLE_CLASS = re.compile(r"(?:[a-z]+[-_])+[a-z]+[-_]?\d{0,3}")
"""A name of words, such as a style class, that only begins as a token does."""
_FRAME = re.compile(r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}|PuTTY-User-Key-File-\d: [\w-]+")
_FRAME_END = re.compile(r"-{4,5} ?END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}|Private-MAC: [0-9a-f]+")
_FRAMED_LINES = re.compile(r"(?:[A-Za-z0-9+/=]{16,100}|[A-Z][A-Za-z-]{2,20}: [^\n]{1,100}|\\[rn]|[\s\"'>|#*]){1,400}")
_KEY_LINE = re.compile(r"[A-Za-z0-9+/=]{12}")
"""A stretch of a key's body; an example has dots or a word there."""
MAX_FRAMED_CHARACTERS = 20_000
_AWS_SECRET = re.compile(r"(?<![\w/+=.-])[A-Za-z0-9/+]{40}(?![\w/+=])")
_BASIC = re.compile(r"\bbasic\s{1,8}([A-Za-z0-9+/]{8,400}={0,2})", re.I)


def vendor_token_spans(text: str, low: str) -> Iterator[Span]:
    """Where tokens of known forms stand."""
    for found in _PREFIX.finditer(text):
        yield from _prefixed(text, found.start(), found[0])
    for sign in filter(text.__contains__, _MARKED):
        yield from (m.span() for m in _compiled(_MARKED[sign]).finditer(text))
    if ".com" in low or "://" in low:
        for sign in filter(low.__contains__, _ADDRESSES):
            yield from (m.span() for m in _compiled(_ADDRESSES[sign]).finditer(text))
    if text.count(".") > 1 or "|" in text:
        for form in _SHAPED:
            yield from (m.span() for m in _compiled(form).finditer(text))
    if "PRIVATE KEY" in text or "PuTTY-User-Key-File" in text:
        yield from _framed_keys(text)
    if "aws" in low or "akia" in low or "asia" in text or "s3" in low:
        yield from (m.span() for m in _AWS_SECRET.finditer(text) if _has_all_sorts(m[0]))
    if text.count("-") > 2 and ("key" in low or "licen" in low or "serial" in low or "activation" in low):
        yield from (m.span() for m in _LICENCE.finditer(text))
    if len(text) >= MIN_SHAPED_CHARACTERS:
        yield from _shaped_keys(text, low)
    if "basic" in low:
        yield from (m.span(1) for m in _BASIC.finditer(text) if _is_basic_credential(m[1]))


def _shaped_keys(text: str, low: str) -> Iterator[Span]:
    """Keys without a prefix of their own: of wallets, of a disk."""
    if max(map(len, text.split())) >= MIN_SHAPED_CHARACTERS:
        for form in _KEY_SHAPED:
            yield from (m.span() for m in _compiled(form).finditer(text))
        if any(map(low.__contains__, _ABOUT_KEYS)):
            for m in _HEX_KEY.finditer(text):
                if not _NO_KEY_BEFORE.search(low, max(0, m.start() - 40), m.start()):
                    yield m.span()
    if "[" in text and text.count(",") > 62:
        yield from (m.span() for m in _BYTE_LIST.finditer(text))


@cache
def _compiled(form: str) -> re.Pattern[str]:
    return re.compile(form)


def _prefixed(text: str, start: int, shortest: str) -> Iterator[Span]:
    """The tokens that begin here with this prefix, or with one that it begins."""
    before = text[start - 1 : start] if start else ""
    if before.isalnum() and before.isascii():
        return
    for prefix in _PREFIXES[shortest]:
        m = _compiled(_PREFIXED[prefix]).match(text, start)
        if m is None:
            continue
        has_digit = any(each.isdigit() for each in m[0][len(prefix) :])
        if prefix in _LETTERS_ONLY or (has_digit and not _STYLE_CLASS.fullmatch(m[0])):
            yield m.span()


def _framed_keys(text: str) -> Iterator[Span]:
    """Private keys with their frame; one without an end goes as far as its lines look like a key's."""
    at = 0
    while (begin := _FRAME.search(text, at)) is not None:
        end = _FRAME_END.search(text, begin.end(), begin.end() + MAX_FRAMED_CHARACTERS)
        if end is not None:
            at = end.end()
        else:
            lines = _FRAMED_LINES.match(text, begin.end(), begin.end() + MAX_FRAMED_CHARACTERS)
            at = begin.end() + (len(lines[0].rstrip()) if lines else 0)
        if _KEY_LINE.search(text, begin.end(), at):
            yield begin.start(), at


def _has_all_sorts(value: str) -> bool:
    return (
        any(each.islower() for each in value)
        and any(each.isupper() for each in value)
        and any(each.isdigit() for each in value)
    )


def _is_basic_credential(value: str) -> bool:
    """Whether it is what HTTP's basic scheme sends: a name and a password with a colon between, in base64."""
    try:
        decoded = base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return b":" in decoded and all(each >= 0x20 for each in decoded)
