"""The words that announce a secret, in many languages, by how sure one may be that a secret follows."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from holdfast.text.lazy_pattern import lazy_pattern
from holdfast.text.redaction.normalised_text import any_of, word_set

_WORDS = {
    "password": (
        # English, German, French, Spanish, Portuguese, Italian, Dutch, Polish
        "passwords?", "passwd", "pass[- ]?phrase",
        "pass[- ]?code", "pass[- ]word", "requirepass", "masterauth", "passwort", "passwörter", "kennwort",
        "kennwörter", "mot de passe", "mots de passe", "contraseñas?", "contrasenas?", "contrasenyas?",
        "palavras?[- ]passe",
        "parol[ae] d'ordine", "wachtwoord(?:en)?", "hasł(?:o|em|a)", "hasl(?:o|em)",
        # Swedish, Danish, Norwegian, Finnish, Czech, Hungarian, Croatian, Turkish, Romanian, Vietnamese, Indonesian
        "lösenord(?:et)?", "losenord(?:et)?", "adgangskoden?", "kodeord(?:et)?", "passord(?:et)?", "salasana(?:ni|n)?",
        "hesl(?:o|em)", "jelsz(?:ó|o|avam|ava)", "lozink(?:a|u|e)", "şifre(?:m|si|miz|n|ni|yi|mi|sini)?",
        "sifre(?:m|si|miz|n|ni|yi|mi|sini)?", "parola(?:m|sı|si|mı|sını|yı)?", "mật khẩu", "mat khau", "kata "
        "sandi(?:nya|ku|mu)?",
        # Russian, Ukrainian, Greek, Arabic, Hebrew, Hindi, Thai, Japanese, Chinese, Korean
        "парол(?:ь|я|ю|ем|і|ів)", "κωδικ(?:ός|ό)(?: πρόσβασης)?", "كلمة (?:المرور|السر)", "סיס?מ(?:ה|ת|א)", "पासवर्ड",
        "รหัสผ่าน", "パスワード", "暗証番号", "合言葉", "密码", "密碼", "口令", "비밀번호", "암호",
        "비번", "패스워드", "パスコード", "認証コード", "验证码", "驗證碼", "كلمة (?:مرور|سر)", "הסיס?מ(?:ה|א)",
    ),
    "short": ("sshpass", "userpass", "dbpass", "rootpass", "mypass", "adminpass", "smtppass", "mailpass", "dbpwd",
    "userpwd",
              "rootpwd", "psk", "pass", "pwd", "pswd", "psw", "pw", "mdp", "claves?", "senhas?", "passe", "pword",
              "passw"),
    "pin": (
        "pins?", "pin[- ]?(?:codes?|number|nummer)", "cvv2?(?: code)?", "cvc2?(?: code)?", "csc", "cvn",
        "puk(?:[- ]?code)?",
        "tan[- ](?:code|nummer)", "otp", "totp", "geheimzahl", "security[ _-]?code", "verification[ _-]?code",
        "card[ _-]?code", "code (?:pin|secret)",
        "code de (?:carte|sécurité)", "codice (?:pin|segreto)", "código (?:pin|secreto|de seguridad|de segurança)",
        "codigo (?:pin|secreto|de seguridad)", "пин(?:-?код)?", "الرقم السري", "pincode",
    ),
    "secret": ("totp[ _-]?(?:seed|secret)", "otp[ _-]?(?:seed|secret)",
               "secrets?(?:[ _.-]?(?:access|api))?(?:[ _.-]?key)?", "geheimnis", "erlang[ _.-]?cookie"),
    "key": (
        "apikeys?", "api[- ]?schlüssel", "privater schlüssel", "clés? (?:api|d'api|privée|secrète)", "api[- ]?ключ",
        "clave (?:api|privada|secreta)", "chave (?:api|privada|secreta)", "chiave (?:api|privata|segreta)",
        "секретный ключ", "приватный ключ", "秘密鍵", "apiキー", "密钥", "密鑰", "私钥",
    ),
    "token": (
        "tokens?", "jeton", "zugangsdaten", "anmeldedaten", "credentials?", "creds", "auth", "bearer", "authorization",
        "identifiants", "signature", "session[ _-]?(?:id|cookie)", "phpsessid", "jsessionid", "connect.sid", "令牌",
        "トークン",
    ),
    "code": ("digicode", "coden?", "codes", "combination", "combo", "koden?", "código", "codigo", "codice",
    "kod(?:u|em|en|unu|um|y)?", "kód(?:ja|ot|u|em|y|om)?", "koodi(?:n|a|ksi)?", "codul", "код(?:а|ом|у|и)?"),
    "bare": ("keys?", "schlüssel", "logins?", "wifi", "wi-fi", "wlan"),
}  # fmt: skip
"""By how sure one may be that a secret follows. Patterns, in small letters; each begins with letters."""


class _WordFinder:
    """Words as patterns, in small letters, each beginning with letters; by their sorts.

    Looking for the beginnings first is what makes an ordinary text cheap. No letter may stand directly before or
    after a word of a bounded sort.
    """

    def __init__(self, words: Mapping[str, Sequence[str]], bounded: Collection[str]) -> None:
        self._by_start: dict[str, list[tuple[str, str]]] = {}
        every = sorted(
            ((_start(word), sort, word) for sort, each in words.items() for word in each), key=lambda e: len(e[0])
        )
        for start, sort, word in every:
            shorter = next((known for known in self._by_start if start.startswith(known)), start)
            self._by_start.setdefault(shorter, []).append((sort, word))
        edge = "(?<![^\\W_])" if set(words) <= set(bounded) else ""
        ascii_starts = [start for start in self._by_start if start.isascii()]
        self._ascii_starts = lazy_pattern(f"{edge}(?=({any_of(ascii_starts)}))") if ascii_starts else None
        self._starts = lazy_pattern(f"{edge}(?=({any_of(self._by_start)}))")
        self._bounded = bounded
        self._compiled: dict[str, list[tuple[str, re.Pattern[str]]]] = {}

    def spans(self, low: str) -> list[tuple[int, int, str]]:
        """Where the words stand in a text in small letters, in order, each with its sort; the longest of several."""
        starts = self._ascii_starts if low.isascii() else self._starts
        if starts is None:
            return []
        longest: dict[int, tuple[int, str]] = {}
        for start in starts.finditer(low):
            at = start.start()
            for sort, pattern in self._compiled.get(start[1]) or self._patterns(start[1]):
                m = pattern.match(low, at)
                if m is not None and m.end() > longest.get(at, (0, ""))[0]:
                    longest[at] = (m.end(), sort)
        found: list[tuple[int, int, str]] = []
        for at in sorted(longest):
            stop, sort = longest[at]
            if not found or at >= found[-1][1]:
                found.append((at, stop, sort))
        return found

    def _patterns(self, start: str) -> list[tuple[str, re.Pattern[str]]]:
        """The words that begin so, compiled when first needed: most never are."""
        self._compiled[start] = [
            (sort, re.compile(rf"(?<![^\W_])(?:{word})(?![^\W_])" if sort in self._bounded else word))
            for sort, word in self._by_start[start]
        ]
        return self._compiled[start]


def _start(word: str) -> str:
    """The letters that every match of a pattern begins with."""
    letters = re.match(r"[^\W_]+", word)
    start = letters[0] if letters else word
    return start[:-1] if word[len(start) : len(start) + 1] == "?" else start


_LABELS = _WordFinder(_WORDS, bounded=("pin", "short"))
KEY_OF = word_set(
    "api access secret private priv encryption decryption signing master account auth authentication authorization",
    "service role license licence activation product serial ssh storage shared preshared psk subscription admin root",
    "hmac webhook session cookie app application consumer client integration ingest write server sas aes crypto",
    "wallet host function primary secondary deploy deployment developer dev project user recovery backup unlock vault",
    "unseal wpa wpa2 wifi wlan netz network security cloud stripe openai anthropic aws gcp azure google maps sendgrid",
    "twilio github gitlab slack datadog algolia mailgun rails jwt flask django laravel supabase firebase cloudflare",
    "heroku netlify vercel ledger bot payment merchant publish upload sync remote cosmos search symmetric privat prod",
    "production staging live test global",
)
"""Words before "key" that make it a secret one."""


def label_spans(low: str) -> list[tuple[int, int, str]]:
    """Where labels stand in a text in small letters, in order, each with its sort; the longest where several do."""
    return _LABELS.spans(low)


def has_label(low: str) -> bool:
    return bool(label_spans(low))


def without_labels(low: str) -> str:
    """The text without the words for secrets; "wifi" and "login" stay, since they tell what a secret is for."""
    for start, stop, sort in reversed(label_spans(low)):
        if sort != "bare" or low.startswith("key", start):
            low = f"{low[:start]} {low[stop:]}"
    return low


BORDERLESS = lazy_pattern(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Scripts that set no blank between words."""
NO_LABEL_BEFORE = word_set(
    "forgot forgotten reset no is has have show hide toggle wrong invalid missing next page continuation cursor",
    "cancel cancellation stop start end eos bos pad unk mask special current previous prev last first peek design",
    "public primary foreign cache sort partition dict map hot shortcut arrow object row idempotency lookup group",
    "index hash routing message translation i18n topic query composite surrogate natural candidate unique max min num",
    "total input output prompt completion per requires require needs need validate check verify check_ hashed",
    "encrypted enable disable allow lost zip postal area country exit error status dress source booking promo",
    "discount tracking order reference voucher color colour hex hs sku item model part bar qr dial dialling dialing",
    "currency language airport iata icd billing course class vat response return http event cheat legacy morse naics",
    "trouble machine byte op genetic ascii unicode region sport coupon gift html css js python java rust go clean",
    "recv receive open low coverage close closing websocket dead native managed penal civil criminal building "
    "dns rsa_public lock",
)
"""Words right before a label that make it another thing: "zip code", "primary key", "page token"."""
SUFFIX = lazy_pattern(
    r"(?:[_.-](?:prod|production|dev|staging|stage|test|live|base|value|string|str|plain|plaintext|text|raw|b64"
    r"|base64|local"
    r"|data|default|admin|root|new|old|current|primary|secondary|main|db|ci|qa|uat|eu|us"
    r"|nya|v?\d{1,3}))?(?:\d{1,3})?(?:\[\d?\])?"
)
"""What may end the name of a value without making it another thing: DB_PASSWORD_PROD, API_KEY_2."""
