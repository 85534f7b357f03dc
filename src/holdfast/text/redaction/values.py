"""Judges what stands where a secret could stand: a placeholder, a program's expression, a plain word, or a secret."""

from __future__ import annotations

import re

from holdfast.text.redaction.normalised_text import word_set

MIN_MIXED_CHARACTERS = 10
_PLACEHOLDER = re.compile(
    r"<[^>]*>?|\$\{?[a-z_][\w.:-]*\}?[\"']?|\$[({].*|\{\{.*|\{[\w.]*(?:![rsa])?(?::[^}]*)?\}.*|\{[\w.]*(?:![rsa])?"
    r"|%%\w+%%|%[({]?\w*[)}]?[sd%]?|[*x•.…_#=?-]{2,}|\[[^\]]*\]?|\\n.*"
    r"|(?:your|my|the|some|enter|insert|put|add|replace|change|choose|set|paste|get|use|new|dummy|fake|sample|example)"
    r"[-_ ]?(?:[a-z]+[-_ ])*(?:password|passwd|pass|pwd|pw|secret|token|key|pin|here|me|this|it|value|credentials?)s?"
    r"|your[-_ ].*|.*[-_ ]here|.*placeholder.*|to ?be ?(?:set|done|defined)|example|sample|dummy|foo|bar|baz|foobar"
    r"|(?:@|!|&|\^|~)?\(.*|!(?:ref|sub|vault|secret|env|getatt)\b.*|@{1,2}[\w.]+@{1,2}|pk_(?:live|test)_\w+"
    r"|(?:vault|ssm|arn|op|env|file|secret|secrets|secretsmanager|keyring|doppler|sops|gcp|aws|azure|data|kms):.*",
    re.I,
)
_TEMPLATE_WORDS = word_set(
    "your my me the some a an this that with in here there put add enter insert replace replaced change changed choose",
    "set paste get use goes go long random string value example sample dummy fake test demo placeholder please must be",
    "to of for from at production prod dev secure very super strong own real actual new password passwd",
    "passphrase pass",
    "pwd pw secret token key keys pin api access auth client user username name id app account private webhook url",
    "credential credentials redacted todo tbd fixme none null changeme changeit replaceme xxx hidden masked removed",
    "notset unset not only local insecure django chars characters generate generated generator bot hook service",
    "foo bar baz foobar database db host hostname port email login project tenant ssid wifi aws root admin",
    "dein deine ihr ihre mein hier einsetzen eintragen ersetzen schluessel schlüssel passwort kennwort geheim votre",
    "ton mon ici clé cle mot de passe tu su aquí aqui clave contraseña contrasena seu sua aqui chave senha tuo qui",
    "chiave jouw wachtwoord twoje haslo hasło",
)
"""Words of which a template's values are made: your-api-key-here, REPLACE_ME, dein-schluessel-hier."""
_TEMPLATE_SIGN = re.compile(
    r"your|only\b|example|sample|dummy|fake|placeholder|here\b|replace|insert|change|please|redacted|todo|random|goes|some"
    r"|password|passwd|passphrase|secret|token|key|user|pass|tenant|project|database|foo|not|my|dein|ihr|votre|ici|aqu"
    r"|clave|contrase|chave|senha|geheim|passwor|schl|mot_?de"
)
_ISSUED_BEFORE = re.compile(
    r"(?:sk|rk|pk)[-_](?:(?:live|test|proj|ant(?:-api\d\d)?|or(?:-v1)?)[-_])?|xox[a-z]-|gh[a-z]_|github_pat_"
    r"|glpat-|hf_|npm_"
    r"|AKIA|ASIA|AIza|SG\.|shpat_|dckr_pat_|hvs\.|pypi-|services/(?:T[X0]{4,}/B[X0]{4,}/)?|v1/|ey[jJ]"
)
_GLUED_TEMPLATE = re.compile(
    r"(?:my|your|the|super|top|very|some|this){0,3}(?:secret|password|token|api|jwt){1,3}(?:key|token|password"
    r"|here|value|string){1,2}"
)
_RUNS = re.compile(r"([xX0*•#?.])\1{2,}")
_PIECE = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![a-z])|\d+")
_CALL = re.compile(r"[@\w.]*\w[\"']?[(\[{].*|[^\w]*[\"'`(\[].*")
_CAMEL = re.compile(r"_*(?:[A-Z][a-z]+\d{0,2}|[A-Z]{1,3}\d?)+(?:_[a-z]+)*|[a-z]+(?:[A-Z][a-z]+\d?|[A-Z]{1,3}\d?)+")
"""A program's name of words and single digits."""
_PROGRAM_WORDS = word_set(
    "test testing demo none null nil undefined true false yes no on off string str text bytes bool boolean int",
    "integer number any",
    "object float char varchar optional required nullable default value values input data result response request",
    "self this args kwargs param params name user username login email type function lambda await new return const",
    "let var secretstr securestring unset empty blank todo tbd fixme n/a na auto hidden masked removed censored",
    "redacted include omit same-origin basic bearer digest oauth oauth2 jwt apikey api_key password passwd pwd secret",
    "secrets token tokens pass key keys credentials credential auth pin passphrase passcode changeme changeit",
    "change_me xxx abc prompt stdin file env environment vault keychain plain md5 sha1 sha256 bcrypt argon2 scrypt",
    "hash hashed encrypted base64 hex uuid flag option argument parameter field column header cookie session body",
    "query form label button box and or is as to the a an in of for with when if not be was are from by your my our",
    "their his her its flags options arguments parameters instead only before after via using",
)
_EXPRESSION = re.compile(
    r"(?:await |new |lambda |f?\"|\*\*?)?[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)*[(\[].*"
    r"|[a-z_]+!\(.*|[A-Za-z_$][A-Za-z_$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$]+)+[;,)]*"
    r"|(?:process\.env|os\.environ|env|ENV|config|settings|secrets|vars?|local|data|self|this|args|opts|options|params"
    r"|request|req|ctx|state|props|user|form|body)[.\[].*",
)
_NAME_OF_THINGS = re.compile(
    r"[a-z]+(?:_[a-z]+)+|[a-z]+(?:[A-Z][a-z]+)+|[A-Z][a-z]+(?:[A-Z][a-z]+)+|[A-Z]+(?:_[A-Z]+)+"
)
"""An identifier of words, as programs name variables."""
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]{1,15}://.*|www\..*|[\w.+-]+@[\w-]+(?:\.[\w-]+)+", re.I)
_PATH = re.compile(
    r"(?:(?:\$\{?\w+\}?|[~.]{1,2}|[A-Za-z]:)?[/\\][\w.@-]+(?:[/\\][\w.@-]*)*|[\w.-]+(?:/[\w.-]+)*\.[a-z]{2,5})"
    r"(?::\d{1,6}(?::\d{1,4})?(?::in)?)?\)?"
)
"""With the line where a trace names one."""
_DOTTED = re.compile(
    r"[^\W\d_]{3,}\.\d{2,6}\.(?!(?:tar|tgz|zip|gz|log|txt|json|ya?ml|csv|sql|dump|bak|pem|key|pdf|png|jpe?g|com"
    r"|org|net)\b)[a-z]+"
)
"""Words and a number with dots between, as in a password: Heron.4821.marsh."""
_TECHNICAL = re.compile(
    r"(?:base|sha|md|utf|aes|rsa|ecdsa|ed|tls|ssl|ipv|http|oauth|rfc|iso|argon|pbkdf|blake|crc|web|pkcs|curve"
    r"|chacha|secp"
    r"|arm|amd|win|python|node|java|php|gpt|llama|claude|wpa|wep|usb|hdmi|covid|cat|mp|ec|hs|rs|es"
    r"|ps)[-_ /]?\d{1,6}[a-z]{0,2}"
    r"(?:[-._](?:\d{1,4}|[a-z]{1,12})){0,3}|[a-z]\d{1,4}[a-z]?|[a-z]\d{1,2}[a-z]|i18n|l10n|k8s|a11y|x86_64|x509"
    r"|[a-z][\w.-]{1,30}/v?\d+(?:\.\d+){1,4}|(?:req|request|trace|span|evt|run|job|msg|cus|ord|err|in|ch|pi|sub)_\w+"
    r"|\d[fl]a|2fa|u2f|fido2|1password\d?|\d{1,4}(?:st|nd|rd|th|am|pm|[a-z]{1,3}|bit|bits|byte|bytes|min|mins|sec"
    r"|secs|hours?"
    r"|days?|weeks?|months?|years?|chars?|digits?|times|ghz|mhz|px|rem)"
    r"|\d{1,4}-(?:char|character|digit|bit|byte|day|hour|minute|month|year|week|word|step|factor|way"
    r"|letter)s?(?:-\w+)*"
    r"|v?\d+(?:\.\d+)+[\w.+-]{0,12}|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:t[\d:.]+z?)?|\d{1,2}:\d\d(?::\d\d)?(?:am|pm)?"
    r"|(?:19|20)\d\d|[a-z]{2}-[a-z]+-\d|0x[0-9a-f]{40}|[#$€£]\d[\d.,k]*|\d[\d.,]*(?:%|k|m|€|eur|usd)|[a-z]+'s|q[1-4]"
    r"|(?:sha(?:1|224|256|384|512)|md5|ip|user|host)[:-](?=\S*[\d:])[\w+/=:.-]{6,128}|(?:[0-9a-f]{2}:){5,40}[0-9a-f]{2}"
    r"|[a-z]{2,6}-\d{1,6}|(?:value|issue|ticket|pr|bug|task|step|phase|sprint|version|room|gate|port|page|line|id|user"
    r"|test|case|server|node|host|app"
    r"|db|prod|dev|staging|project|proj|cluster|worker|pod|vm|build|release|device|client|tenant|team|org|group"
    r"|level|item)"
    r"[-_#]?\d{1,6}",
    re.I,
)
"""Words with digits that everybody knows: algorithms, versions, dates, amounts, numbered things."""
_NUMBERED_NAME = re.compile(r"[a-z]+(?:_[a-z]+|_\d+)+|(?:[a-z]+_)+[a-z]+\d{1,2}|[\w.]+=[\w.]+,?")
"""A program's name with a number in it, or a name and its value: num_401_calls, use_sigv4, api_id=id."""
_FUNCTION_WORDS = word_set(
    "a an the not too very my our in on at by to of for and or but so as if it its this that these those there here",
    "from with without within until since before after than about because when where what which who why how me you",
    "him her us them i we he she they your their is are was were be been has have had do does did will would can",
    "could should shall may might must let please no only just also already yet again still now characters chars",
    "digits letters words symbols numbers long longer short old new",
)
"""Words that a sentence about a password needs, and a password of several words has not."""
_VAGUE = _FUNCTION_WORDS | word_set(
    "stored wrong right reset expired required important safe being missing same invalid incorrect weak strong",
    "correct redacted unsafe secure insecure secret private public hidden visible shown long short old new good bad",
    "great fine okay ok ready gone lost stolen leaked known unknown unique easy hard simple complex complicated empty",
    "blank null none nothing something anything everything still now always never only just also already yet soon",
    "later again unchanged default optional mandatory necessary needed enough different similar identical temporary",
    "permanent case length up down off out over under above below from with without within until since before after",
    "more less than like unlike ours mine yours his hers theirs someone everyone nobody written saved kept set sent",
    "given taken forgotten broken hashed salted encrypted plain text plaintext about because when where what which",
    "who why how all both each every few many most much several no yes one two three four five six seven eight nine",
    "ten twelve characters chars digits letters words symbols numbers days months years weeks hours minutes times",
    "nonsense gibberish word bit crap rubbish terrible awful ridiculous silly stupid obvious trivial boring "
    "random absolutely really",
    "pretty quite rather totally completely probably maybe perhaps definitely currently usually often sometimes me",
    "you him her us them i we he she they your their is are was were be been has have had do does did will would can",
    "could should shall may might must let please",
)
_STATE_ENDINGS = re.compile(r".{3,}(?:ed|ing|able|ible|ful|less|ous|ive|ant|ent|ory|ary|ally|ly|ised|ized|tion|ness)")


_SAID_IN_FORMS = re.compile(
    r"\b(?:must|should|please|enter|type|choose|at least|minimum|maximum|char(?:acter)?s?|digits?|letters?"
    r"|symbols?|field"
    r"|required|invalid|forgot|forgotten|reset|confirm|match|your|you|cannot|can't|may not|blank|contains?|hint"
    r"|optional|wrong"
    r"|incorrect|expired?s?|changed|updated|see|ask|stored|vault|keychain|least|days|attempts|tries|not|error"
    r"|failed|per)\b",
    re.I,
)
_ADVICE = word_set(
    "ask see check look find get enter type choose call contact read use try tell same stored kept written"
)


_NUMBER_WORDS = word_set("one two three four five six seven eight nine ten twelve")
_NAMES_OF_PARTS = word_set(
    "config cfg conf settings setting hint error errors message msg title placeholder page screen view model",
    "schema app",
    "db database server client admin root test dev prod staging policy rule rules manager service store provider vault",
    "secret ref from env id ids url uri path dir index count size length max min reset change confirm current new old",
    "confirmation strength validator controller handler helper util utils com org net io www html json yaml aws azure",
    "google github gitlab main http https api web cloud cluster pull read write readonly registry kube k8s docker",
)
"""Words of which programs name things."""


def is_said_in_forms(text: str) -> bool:
    """Whether a form or a manual says it about passwords: "Must have at least 8 characters"."""
    return _SAID_IN_FORMS.search(text) is not None


def is_advice(word: str) -> bool:
    """Whether a sentence that tells what to do begins with it: "ask Nora", "see the wiki"."""
    return word.lower() in _ADVICE


def is_placeholder(value: str) -> bool:
    """Whether it stands for a secret instead of being one: `<password>`, `$TOKEN`, `****`, "your-key-here"."""
    return (
        not value
        or value.endswith(("…", "..."))
        or value.lower().strip("[]<>{}()*`\"'") in _PROGRAM_WORDS
        or len(set(value)) < 2 + (len(value) > 8)
        or value.lower().rstrip(".,;:!?)") in _PROGRAM_WORDS
        or _PLACEHOLDER.fullmatch(value) is not None
    )


def is_template(value: str) -> bool:
    """Whether a manual or an example shows it in place of a secret, issuer's prefix or not: `sk-your-key-here`,
    "replace-me-with-a-long-string", `AKIAIOSFODNN7EXAMPLE`, `xoxb-0000-0000-xxxx`."""
    if "EXAMPLE" in value or _GLUED_TEMPLATE.fullmatch(value.lower()):
        return True
    issued = _ISSUED_BEFORE.match(value)
    body = value[issued.end() :] if issued else value
    if len(body) > 11 and not body.isdigit() and any(body.lower() in each for each in _KEYBOARD_ROWS):
        return True
    signs = sum(map(str.isalnum, body)) or len(body)
    number = not any(map(str.isalpha, body)) and len({each for each in body if each.isdigit()}) > 1
    if not number and 5 * sum(len(m[0]) for m in _RUNS.finditer(body)) > 3 * signs and len(body) > 5:
        return True
    if not _TEMPLATE_SIGN.search(body.lower()) or any(each in body for each in "!@$%^&*"):
        return False
    pieces = _PIECE.findall(body.lower() if body.isupper() else body)
    words = [each.lower() for each in pieces if not each.isdigit()]
    numbers = [each for each in pieces if each.isdigit()]
    if numbers and not (issued or len(words) > 2):
        return False
    return all(word in _TEMPLATE_WORDS for word in words) and all(
        each in "1234567890" or len(each) < 3 for each in numbers
    )


_KEYBOARD_ROWS = (
    "01234567890abcdefghijklmnopqrstuvwxyz",
    "abcdefghijklmnopqrstuvwxyz01234567890",
    "abcdef0123456789" * 4,
)
_COUNTED_UP = ("0123456789", "9876543210", "abcdefgh")


def is_guessable(value: str) -> bool:
    """Whether everybody tries it first: digits that repeat or go up, "password1"; known as an example of a bad one."""
    if value.isdigit():
        return len(set(value)) < 3 or any(value in each for each in _COUNTED_UP) or value in ("2580", "1212", "6969")
    return (
        re.fullmatch(r"(?:p[a@]ssw[o0]rd|s[e3]cr[e3]t|qwerty|letmein|admin|welcome|abc)\d{0,4}!?", value.lower())
        is not None
    )


_NETWORK_NAME = re.compile(
    r"(?:fritz|speedport|vodafone|tp-?link|netgear|linksys|easybox|livebox|freebox|o2-|telekom|asus|d-?link"
    r"|ubnt|eduroam"
    r"|guest|gast\b|invit|-hub|hub\d|\bbt-|\bsky\d|(?<![a-z\d])[25]\.?4?g(?![a-z])|wlan-|wifi|wi-fi|zyxel"
    r"|huawei|xfinity)"
)


def is_network_name(value: str) -> bool:
    """Whether a wireless network is called so, by its maker or for guests."""
    return _NETWORK_NAME.search(value.lower()) is not None


def is_worded(value: str, least: int = 2) -> bool:
    """Whether it is words with signs between, as a passphrase, and none of them a program's: toaster_in_bath."""
    parts = re.split(r"[-_.]", value) if not value.isalpha() else _PIECE.findall(value)
    if len(parts) < least or not all(part.isalpha() for part in parts) or len(value) < 8:
        return False
    if any(part.lower() in _PROGRAM_WORDS - _FUNCTION_WORDS or part.lower() in _NAMES_OF_PARTS for part in parts):
        return False
    plain = [part for part in parts if not is_function_word(part) and part.lower() not in _NUMBER_WORDS]
    led = not is_function_word(parts[0]) and not is_advice(parts[0])
    return led and len(plain) > 0 and not any(map(is_vague, plain))


def is_reference(value: str) -> bool:
    """Whether it says where to find something: an address, a path."""
    if _ADDRESS.fullmatch(value) is not None:
        return True
    return _PATH.fullmatch(value) is not None and not _is_random(value) and not _DOTTED.fullmatch(value)


def _is_random(value: str) -> bool:
    """Whether a word with slashes is a key in base64 and no path: long, with letters of both cases and digits."""
    return (
        len(value) > 19
        and "." not in value
        and any(each.islower() for each in value)
        and any(each.isupper() for each in value)
        and len(re.findall(r"\d", value)) > 1
    )


def is_expression(value: str) -> bool:
    """Whether a program would compute it: a call, an attribute, a variable."""
    return _EXPRESSION.fullmatch(value) is not None or _NAME_OF_THINGS.fullmatch(value) is not None


def is_technical(value: str) -> bool:
    return _TECHNICAL.fullmatch(value) is not None


def is_made_up(value: str) -> bool:
    """Whether it mixes letters with digits or signs as a password does and a word does not."""
    if (
        len(value) < 4
        or is_technical(value)
        or is_reference(value)
        or _CALL.fullmatch(value)
        or "`" in value
        or "()" in value
    ):
        return False
    letters = sum(each.isalpha() for each in value)
    digits = sum(each.isdigit() for each in value)
    if digits and letters:
        return not _NUMBERED_NAME.fullmatch(value)
    inner = value[1:].rstrip("!?*")
    return len(value) >= 6 and letters > 2 and any(each in "!@#$%^*~" for each in inner) and value[-1] not in "=("


def is_dense(value: str) -> bool:
    """Whether no ordinary word or name looks so: signs among letters and digits, or letters of both cases and digits
    in turn."""
    if not is_made_up(value) or len(value) < 8:
        return False
    if _CAMEL.fullmatch(value) and sum(each.isdigit() for each in value) < 3:
        return False
    digits = any(each.isdigit() for each in value)
    lower, upper = any(each.islower() for each in value), any(each.isupper() for each in value)
    if digits and (lower or upper) and any(each in "!@#$%^*?~" for each in value[1:-1]) and "/" not in value:
        return True
    mixed = digits and lower and upper and (len(value) >= 20 or len(re.findall(r"\d+", value)) > 1)
    return mixed and (len(value) >= MIN_MIXED_CHARACTERS or not re.search(r"[/.:_-]", value))


def is_random_key(value: str) -> bool:
    """Whether only a machine draws such a value: hexadecimal digits, or letters of both cases and digits in turn."""
    body = value.removeprefix("0x").rstrip("=")
    if len(body) < 20 or len(set(body)) < 9:
        return False
    if re.fullmatch(r"[0-9a-f]+|[0-9A-F]+", body):
        return len(body) > 23 and len(re.findall(r"\d+", body)) > 2
    if body[0] == "/" or re.search(r"[a-z]{7}|[A-Z]{7}|[a-z]{3,}[-_/][a-z]{3,}", body):
        return False
    return len(re.findall(r"\d+", body)) > 1 and len(re.findall(r"[a-z][A-Z]|[A-Z][a-z]|[A-Z]\d|\d[A-Z]", body)) > 3


def is_unguessable(value: str) -> bool:
    """Whether it is as long and mixed as an issued key: at least 16 letters and digits without a blank."""
    return len(value) >= 16 and any(c.isdigit() for c in value) and any(c.isalpha() for c in value)


def is_function_word(word: str) -> bool:
    return word.lower().strip(".,;:!?)\"'") in _FUNCTION_WORDS


def is_vague(word: str, by_ending: bool = True) -> bool:
    """Whether the word describes a password instead of being one: "weak", "expired", "required"."""
    low = word.lower().strip(".,;:!?)\"'")
    if low in _VAGUE or low in _PROGRAM_WORDS:
        return True
    return by_ending and (_STATE_ENDINGS.fullmatch(low) is not None or "-" in low.strip("-"))
