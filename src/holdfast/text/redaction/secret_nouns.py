"""What people name when they tell a secret: the password, the door, the account; beginnings of words in many languages.

They decide whether the detector of `secret_words` looks at a text at all, and it learns from them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from holdfast.text.lazy_pattern import lazy_pattern

_BEGINNINGS = {
    "password": (
        "passwor passw pasw psswo "
        "maiden memorab safeword passwd passphras passcod passkod passord paswor passwrd psswd pword "
        "kennw kodeor adgangskod lösenor losenor contrase wachtwoor hasł hasl hesl jelsz lozin şifr sifre "
        "parola parolă parole parolo paroli parool slaptaž šifr salasan sandi парол гасл κωδικ συνθηματικ "
        "مرور كلمة باسورد הסיסמ סיסמ पासवर्ड पासकोड पासफ्रेज السري ওটিপি পাসওয়ার্ড khẩu nenosiri gesl "
        "codewort codeword keyword"
    ),
    "code": (
        "code códig codig codic cod koda kode kodi kodu kody kodem kód kooda koodi код digicod combinat "
        "combinac combinai combinaz combinaç combo kombin комбин رمز كود קוד הקוד कोड pattern muster digit "
        "ziffer chiffre cifr cijfer cyfr цифр yhdistelm numerek"
    ),
    "key": (
        "key apikey wallet token secret schlüssel clé clef llave chav chiav sleutel klucz nyckel nøgle "
        "nøkkel avain klíč kulcs anahtar ключ κλειδ مفتاح מפתח चाबी jeton passkey seed mnemon phrase frase "
        "fraz backup recover récup recuper wiederherst herstel geheim secur sicherheit segur sicur bezpiecz "
        "güvenlik säkerhet sikkerhet"
    ),
    "answer": (
        "answer respuest rispost respost répon odpowied odpověd cevap svar vastau ответ mädchenn antwort "
        "antwoor meisjesn panień девич дівоч solter nubil contraseñ frage pregunta domanda pergunta pytani "
        "otázk soru fråg spørgsm вопрос контрольн кодов"
    ),
    "place": (
        "door gate alarm safe lock unlock padlock keypad keybox garage intercom voicemail suitcase luggage "
        "disarm mailbox telephon bank buzz vault shed barn elevator gym cabin storage tür haust tresor schlo "
        "spind entsperr schließ eingang pforte immeubl porte portail portã portone portil portko portti "
        "cancello coffr caden casier interphon répond déverr puert candad caja taquill garaj desbloq malet "
        "cofr cassaf lucchett citofon allarm antifurt deur voordeur poort kluis hangslot fietss bram furtk "
        "drzw sejf kłódk domofon dveř vchod brán trezor zám skříň kapı kasa kili dörr kassa larm lås dør "
        "pengesk ovi hälyt kapu ajtó riaszt széf lakat ușa poart interfon seif lacăt cửa cổng két pintu "
        "gerbang brankas loker gembok двер подъезд подьезд домоф сейф замок замк калитк сигнализ ворот гараж "
        "хвіртк шкафч чемод разблок розблок під'їзд πόρτα πόρτας συναγερμ χρηματοκ باب بوابة خزنة إنذار דלת "
        "הדלת שער כספת אזעק דרך दरवाज गेट तिजोर ताल अलार्म iphone ipad phone laptop handy tablet sim bike"
    ),
    "login": (
        "login logged logging user username admin account wifi wi-fi wlan wpa ssid router network hotspot "
        "netflix spotify gmail icloud email anmeld einlogg benutz identif usuar usuár utent acced inlog "
        "zalog loguj logg přihl giriş kullan kirjaud belép nhập masuk войт войд зайт логин логін увійт вход "
        "encrypt protect verschl protég zugang accès acces acesso access staging server vpn zip"
    ),
    "sent": (
        "texted sms authent एटीएम ওটিপি mfa factor verif punch typed typ enter entered dial gib tipp drück "
        "tape compose marca tecle digit premi toets wpisz wklep zadej tuşl slå набер введ ввод нажм näppäil "
        "bấm tekan ketik doğrul bestätig temporary reset changed"
    ),
    "person": (
        "card visa mastercard amex kart kredit carte tarjet cartã carta kaart kort карт कार्ड ssn social "
        "passp licen aadhaar insuran steuer ausweis sozialv passep pasap passap fiscal pesel personnum снилс "
        "инн паспорт konto account iban routing"
    ),
}
_WHOLE = {
    "short": (
        "pass pw pws pwd pwds pswd psw psk mdp clave claves senha senhas passe passw mk contra creds credentials cred"
    ),
    "pin": (
        "pin pins pinu pinem pinie pinim pinimiz pini pinin pinul pinen pinkod pinkoden pinkoodi pincode "
        "pinnummer cvv cvc csc puk otp tan mtan geheimzahl tunnusluku пин пина пинкод пін πιν पिन"
    ),
    "code": "kod",
    "place": "tor tore open opens port porten portin oven entry entrance enter",
    "login": "sudo log logs sign signs root connecter connecte",
    "sent": "tast press type types typed tap tape guard gave shows",
    "answer": "question questions hint prompt",
    "person": "dni cpf bsn nif",
}
_INNER = {
    "password": (
        "passwor kennwort wachtwoord lösenord パスワード パスコード 暗証 合言葉 密码 密碼 口令 비밀번호 비번 "
        "암호 패스워드 รหัสผ่าน"
    ),
    "code": "code kod koodi コード 코드 번호 番号 ナンバー 验证码 驗證碼 动态码 校验码 码 รหัส",
    "key": "schlüssel キー 密钥 鍵 키 秘密の 密保 보안",
    "pin": "ピン 핀 pin-",
    "place": (
        "schloss alarm larm slot 保险箱 门禁 门锁 大门 玄関 金庫 ロッカー ドア ロック 锁 현관 금고 도어락 "
        "사물함 ประตู ตู้เซฟ"
    ),
    "login": "登录 账号 ログイン 로그인 아이디 wi-fi 와이파이 ワイファイ",
    "sent": "按 输入 입력",
    "person": "カード 卡 카드 身份证 マイナンバー",
}
ALWAYS = frozenset(("password", "short", "pin", "code", "key", "answer"))
"""Sorts that are hardly spoken of without a secret."""
STRONG = frozenset(("password", "short", "pin", "code", "key", "answer"))
"""Sorts that speak of secrets by themselves."""
_MAX_BEGINNING = 12
MAX_REMEMBERED = 1 << 15
_BESIDE, _MAX_PLACES = 80, 8
"""Characters from a noun within which an odd word counts, and how often it is looked for."""


def _sorts_by_word(lists: dict[str, str]) -> dict[str, str]:
    return {word: sort for sort, words in reversed(lists.items()) for word in words.split()}


_BY_BEGINNING = _sorts_by_word(_BEGINNINGS)
_BY_WORD = _sorts_by_word(_WHOLE)
_BY_PART = _sorts_by_word(_INNER)
BORDERLESS = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
"""Scripts that set no blank between words."""
_WORDS = lazy_pattern(rf"[{BORDERLESS}]+|[^\s\d!-&(-,./:-@\[-`{{-~…。、，！？{BORDERLESS}]+")
_ODD_WORD = lazy_pattern(r"\d{3}|\w-\d|\w[!@#$%^&*_+]\w|[a-z][A-Z]|[A-Z][a-z]+-[A-Z]|\d\W?[^\W\d_]|[^\W\d_]\d|\d[ -]\d")
_DIGIT, _LETTER = lazy_pattern(r"\d"), lazy_pattern(r"[^\W\d_]")
_MIXED_WORD = lazy_pattern(r"[^\W\d_]{4}\d\d|\d[^\W\d_]{2,}\d|[^\W\d_]{2}\d[^\W\d_]")
_PASSWORD_SHAPE = lazy_pattern(
    r"(?<![\w./:@#-])(?=[^\s/:]{0,30}\d)(?=[^\s/:]{0,30}[^\W\d_])(?=[^\s/:]{0,30}[!@$%^&*+?~_.#-]\S)"
    r"[^\W\d_][^\s/:@()\"'`,;<>={}\[\]]{6,30}(?![^\s.,;!?)\"'])"
)


class _SortsOfWords(dict[str, str]):
    """Remembers what words name; a look at a dictionary is the cheapest, and most words come again."""

    def __missing__(self, word: str) -> str:
        if len(self) > MAX_REMEMBERED:
            self.clear()
        sort = self[word] = _noun_sort(word)
        return sort


_SORTS = _SortsOfWords()


def noun_sort(word: str) -> str:
    """What the word in small letters names: "password", "code", "place" and so on; empty where it is none of these."""
    return _SORTS[word]


def _noun_sort(word: str) -> str:
    if word in _BY_WORD:
        return _BY_WORD[word]
    if "'" in word or "-" in word[1:]:
        parts = [_noun_sort(part) for part in re.split("['-]", word) if part]
        return next((sort for sort in parts if sort in STRONG), next(filter(None, parts), ""))
    for length in range(min(len(word), _MAX_BEGINNING), 1, -1):
        sort = _BY_BEGINNING.get(word[:length])
        if sort is not None and (length > 3 or len(word) - length < 3):
            return sort
    if len(word) > 7 or not word.isascii():
        return next((sort for part, sort in _BY_PART.items() if part in word), "")
    return ""


def may_tell_secret(text: str, low: str) -> bool:
    """Whether the detector has to look: a secret is named, or an odd word is there beside a door, a login or a card."""
    nouns = {word: sort for word in set(_WORDS.findall(low)) if (sort := _SORTS[word])}
    sorts = set(nouns.values())
    if len(sorts) > 1 or not sorts.isdisjoint(ALWAYS) or (len(nouns) > 1 and not sorts.isdisjoint(STRONG)):
        return True
    numbered = not text.isascii() or any(map(text.__contains__, "0123456789"))
    mixed = numbered and _has_mixed_word(text)
    if (not nouns and not mixed) or _ODD_WORD.search(text) is None:
        return False
    if any(_ODD_WORD.search(text, max(0, at - _BESIDE), at + _BESIDE) for at in _first_places(low, nouns)):
        return True
    return mixed and (_MIXED_WORD.search(text) is not None or _PASSWORD_SHAPE.search(text) is not None)


def _has_mixed_word(text: str) -> bool:
    """Whether a word has a digit and a letter: most texts have none, and this is far cheaper than the patterns that
    need one."""
    odd = [word for word in text.split() if not word.isalpha()]
    return any(_DIGIT.search(word) is not None and _LETTER.search(word) is not None for word in odd)


def _first_places(low: str, words: Iterable[str]) -> Iterator[int]:
    """Where the words stand, the first few times."""
    for word in words:
        at = low.find(word)
        for _ in range(_MAX_PLACES):
            if at < 0:
                break
            yield at
            at = low.find(word, at + len(word))
