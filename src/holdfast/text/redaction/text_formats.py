"""Finds secrets by the place they stand in: addresses, command lines, SQL, headers, files of credentials."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from holdfast.text.redaction import values
from holdfast.text.redaction.command_lines import COMMAND_FORMS
from holdfast.text.redaction.normalised_text import Span, any_of

_V = r"(?:\"(?P<dq>[^\"\n]{3,200})\"|'(?P<sq>[^'\n]{3,200})'|(?P<v>(?![-<${(%|])[^\s\"'|>]{3,200}))"
"""A value of a command line: in quotes or up to the next blank, and not an option or a variable."""
_RANDOM_PART = r"(?P<v>(?=[\w-]{0,60}[a-z])(?=[\w-]{0,60}(?-i:[A-Z]))(?=[\w-]{0,60}\d)[\w-]{16,300})(?![\w.-]*\.\w)"
"""A part of an address's path as only a machine draws it."""
_FORMS = {
    # sign: forms, looked for where the sign is in the text, in small letters
    "://": (
        r"://(?!(\w{1,40}):\1@)[^\s:/@\"'<>]{0,100}:(?P<v>[^\s/?#\"'<>]{1,200})@(?=[\w\[$.-])",
        r"://(?P<v>(?=[\w~.-]{0,60}\d)[\w~.-]{16,200})@(?=[\w\[-])",
        r"://[^\s\"'<>?#]{1,120}/(?:magic|reset|invit\w{0,6}|log-?in|sign-?in|verif\w{0,8}|confirm\w{0,6}|tokens?|auth\w{0,6}"
        r"|join|shared?|activat\w{0,4}|unsubscribe|access|hooks?|webhooks?|callback|sso|session|guest|one-?time|otp|recover\w{0,4}"
        r"|accept|private|secret|pair|s|r|t|u|in|cb)[\w-]{0,20}/(?:[\w-]{1,16}/){0,2}" + _RANDOM_PART,
        r"://[^\s\"'<>?#]{1,120}/(?:magic|reset|invit\w{0,6}|verif\w{0,8}|confirm\w{0,6}|activat\w{0,4}|unsubscribe)[\w-]{0,20}/"
        r"(?P<v>(?=[0-9a-f]{0,20}[a-f])[0-9a-f]{24,128})\b",
        r"[?&](?:code|t|k|hash|access_?code)=" + _RANDOM_PART,
        r"://(?:[\w-]{0,20}\.)?(?:web)?hooks?\.[^\s/\"'<>]{1,80}/(?:[\w-]{1,20}/){0,4}" + _RANDOM_PART,
    ),
    "=": (
        r"[?&;](?:amp;)?(?:[\w.-]{0,30}?[_.-])?(?:access|auth|api|id|refresh|session|security|client)?[_.-]?"
        r"(?:token|key|apikey|auth|access|ticket|grant|magic|invite|reset|jwt|hmac|otp|sid|password|passwd|passphrase|pwd|pass|secret|sig|signature"
        r"|credential)=(?P<v>[^\s&#;\"'<>`)\]]{4,600})",
    ),
    " -": (
        r"(?<!\S)--?[a-z_-]{0,30}?(?:password|passwd|passphrase|pass|pwd|secret|token|api-?key|access-?key"
        r"|private-?key|secret-?key"
        r"|credentials?|[a-z]-key|-pin|-pw|-key)(?:=|\s{1,8})" + _V,
        r"(?<!\S)--(?:user|proxy-user|basic-auth|auth|credentials?|http-auth|creds)(?:="
        r"|\s{1,8})[\"']?[^\s:\"']{1,80}:(?P<v>[^\s\"']{3,200})",
        r"--from-literal[= ][\"']?[\w.-]{1,60}=(?P<v>[^\s\"']{3,200})",
    ),
    " -u": (
        r"\b(?:curl|http|https|httpie|xh|ab|wget|siege|hey|lftp|az|k6|svn|mvn|nuget|restic|ldapsearch)\b[^\n"
        r"|;]{0,300}?\s-u\s?[\"']?"
        r"[^\s:,\"']{1,80}[:,](?P<v>[^\s\"']{3,200})",
        r"\b(?:smbclient|rpcclient|net|winexe|mount|smbmap|nmap"
        r"|crackmapexec)\b[^\n]{0,200}?\s-u\s?[\"']?[^\s%\"']{1,80}%(?P<v>[^\s\"']{3,200})",
    ),
    " -a": (
        r"\b(?:http|https|xh|httpie)\b[^\n|;]{0,300}?\s-a\s?[\"']?[^\s:\"']{1,80}:(?P<v>[^\s\"']{3,200})",
        r"\bredis-cli\b[^\n|;]{0,200}?\s-a\s{1,8}" + _V,
    ),
    " -p": (
        r"\b(?:mysql|mysqldump|mysqladmin|mariadb|mariadb-dump|mycli)\b[^\n"
        r"|;]{0,200}?\s-p[\"']?(?P<v>(?!assword\b|rotocol\b|ort\b)[^\s\"'$<{-][^\s\"']{2,100})",
        r"\b(?:docker|podman|skopeo|buildah|nerdctl|helm|oc|az|cf|ibmcloud|rancher|argocd)\b[^\n"
        r"|;]{0,60}\blogin\b[^\n|;]{0,200}?\s-p\s?" + _V,
        r"\b(?:sshpass|mongo|mongosh|mongodump|mongorestore|twine|psexec|7z|7za|rar|unrar|hydra|cqlsh|evil-winrm"
        r"|snowsql|rabbitmqadmin)\b"
        r"[^\n|;]{0,200}?\s-p:?\s?" + _V,
        r"\b(?:zip|unzip|sqlcmd|bcp|ipmitool|osql)\b[^\n|;]{0,200}?\s-P\s?" + _V,
        r"\b(?:plink|pscp|psftp|putty)\b[^\n|;]{0,200}?\s-pw\s{1,8}" + _V,
    ),
    " -u ": (r"(?<!\S)-u\s?[\w.@-]{1,60}\s(?:[^\n|;]{0,80}?\s)?-p\s?(?P<p>[^\s\"']{4,100})",),
    " -n": (r"\bssh-keygen\b[^\n|;]{0,200}?\s-[NP]\s?" + _V,),
    " -w": (r"\bldap(?:search|add|modify|passwd|whoami|delete|compare)\b[^\n|;]{0,200}?\s-[wsa]\s?" + _V,),
    " -k": (r"\bopenssl\b[^\n|;]{0,200}?\s-k\s{1,8}" + _V,),
    "pass:": (r"\bpass:[\"']?(?P<v>[^\s\"':]{3,200})",),
    "xfreerdp": (r"\s/p:[\"']?(?P<v>[^\s\"']{3,200})",),
    "identified": (r"\bidentified\s{1,8}(?:with\s{1,8}[\w\"']{1,40}\s{1,8})?by\s{1,8}(?:password\s{1,8})?[\"'](?P<"
        r"v>[^\"'\n]{3,200})[\"']",),
    "password": (
        r"\b(?:with|encrypted|set|alter|user|role"
        r"|login)?\s{1,3}password\s{1,3}(?:for\s{1,8}\S{1,60}\s{0,8}=\s{0,8})?(?:password\()?[\"'](?P<v>[^\"'\n]{3"
        r",200})[\"']",
        r"\blogin\s{1,8}\S{1,80}\s{1,8}password\s{1,8}(?P<v>[^\s\"']{3,200})",
        r"\b(?:username|user|usuario|usuário|utilisateur"
        r"|benutzer(?:name)?)\s{1,8}(?!and\b)\S{1,60},?\s{1,8}(?:and\s{1,8})?(?:password|passwd|pass"
        r"|pw)\s{1,8}(?P<v>[^\s\"',;]{4,200})",
        r"\bpassword\s{1,8}[0-9]\s{1,8}(?P<v>[^\s\"']{3,200})",
    ),
    "chpasswd": (r"[\"']?[\w.-]{1,40}:(?P<v>[^\s\"'|]{3,200})[\"']?\s{0,8}\|\s{0,8}(?:sudo\s{1,8})?chpasswd",),
    "stdin": (r"\becho\s{1,8}(?:-n\s{1,8})?" + _V + r"\s{0,8}\|[^\n]{0,200}--(?:password-stdin|with-token"
        r"|passphrase-fd|stdin)",),
    "sudo -s": (r"\becho\s{1,8}(?:-n\s{1,8})?" + _V + r"\s{0,8}\|\s{0,8}sudo\s{1,8}-S\b",),
    "htpasswd": (r"\bhtpasswd\s{1,8}(?=(?:-\w{1,20}\s{1,8}){0,3}-\w{0,9}b)(?:-\w{1,20}\s{1,8}){1,4}"
        r"(?:\S{0,60}[./]\S{0,60}\s{1,8})?[\w.@-]{1,60}\s{1,8}" + _V,),
    "add_user|change_password": (r"\b(?:add_user|change_password)\s{1,8}\S{1,60}\s{1,8}" + _V,),
    "requirepass|masterauth": (r"\b(?:requirepass|masterauth)\s{1,8}" + _V,),
    "auth ": (r"(?:^|\n)\s{0,8}AUTH\s{1,8}(?:\w{1,60}\s{1,8})?(?P<v>[^\s\"'<>=]{6,200})\s{0,8}(?:$|\n)",),
    "configure set": (r"\bconfigure set\s{1,8}[\w.]*(?:secret|token|key)[\w.]*\s{1,8}" + _V,),
    "config": (r"\bconfig\s{1,8}(?:set\s{1,8})?\S{0,120}(?:_authToken|token|password|secret|apikey"
        r"|api_key)\s{1,8}" + _V,),
    "vault login": (r"\bvault login\s{1,8}(?:-\S{1,80}\s{1,8}){0,4}(?!\w{1,30}=)" + _V,),
    "auth=|auth =": (r"\bauth\s?=\s?[\[(]\s?[frb]?[\"'][^\"'\n]{1,80}[\"'],\s?[frb]?[\"'](?P<v>[^\"'\n]{3,200})[\"']",),
    "basicauth": (r"basicauth\w*\(\s?[\"'][^\"'\n]{1,80}[\"'],\s?[\"'](?P<v>[^\"'\n]{3,200})[\"']",),
    "basic_auth": (r"basic_?auth\w*[\s(=\[]{1,3}\s?[\"'][^\"'\n]{1,80}[\"'],\s?[\"'](?P<v>[^\"'\n]{3,200})[\"']",),
    "login(": (r"\blogin\(\s?[\"'][^\"'\n]{1,80}[\"'],\s?[\"'](?P<v>[^\"'\n]{3,200})[\"']",),
    "connect(": (r"\bconnect\(\s?[\"'][^\"'\n]{1,80}[\"'],\s?[\"'][^\"'\n]{1,80}[\"'],\s?[\"'](?P<v>[^\"'\n]{3,200"
        r"})[\"']",),
    "cookie": (
        r"\bcookie:\s?(?:[\w.-]{1,60}=[^;\s]{0,200};\s?){0,10}?[\w.-]{0,40}(?:sess|sid|token|auth|jwt"
        r"|remember)[\w.-]{0,40}=(?P<v>[^;\s\"']{8,600})",
    ),
    "authorization": (
        r"\bauthorization[\"']?\s?[:=]\s?[\"']?(?:[A-Za-z][\w-]{1,20}\s{1,8})?(?P<v>[A-Za-z0-9][\w+/=.~"
        r"|-]{7,2000})(?=[\s\"'`,;)]|\\|$)",
        r"\bauthorization[\"']?\s?[:=]\s?[\"']?aws4-hmac-sha256[^\n]{0,400}?signature=(?P<v>[0-9a-f]{32,128})",
    ),
    "bearer": (r"\bbearer\s{1,8}(?:token\s{1,8})?[\"']?(?P<v>(?=[\w+/=.~-]{0,80}\d)[A-Za-z0-9][\w+/=.~-]{7,2000})",),
    "preshared": (r"\bpre-?shared-?key\s{0,8}=\s{0,8}(?P<v>\S{8,100})",),
    "wifi:": (r"\bWIFI:(?:[A-OQ-Z]:[^;\n]{0,60};){0,5}P:(?P<v>[^;\n]{3,100})",),
    "accountkey": (r"(?:Account|SharedAccess|Primary|Secondary)Key=(?P<v>[A-Za-z0-9+/=]{16,200})",),
    "sharedaccess": (r"SharedAccess(?:Key|Signature)=(?P<v>[^\s;\"']{16,600})",),
    "creds|credential|login|log in|logged in|log into|sign in|signed in|sign-in|zugangsdaten|anmeldedaten"
        "|identifiants|account|access": (
        r"\b(?:creds?|credentials?|logins?|(?:log|sign)(?:ged|ed)?[ -]?in(?:to\s\S{1,40})?|zugangsdaten"
        r"|anmeldedaten|identifiants|accounts?|access)"
        r"(?:\s{1,8}(?:for|to|on|details|data|of|fürs?|pour|para)\b[^:\n/|]{0,40}?)?(?:\s{1,8}(?:is|are|with|as"
        r"|using)|\s{0,8}[:=-])?\s{1,8}[\"'`]?"
        r"[^\s\"'`/|:]{2,60}\s?[/|:]\s?[\"'`]?(?P<p>[^\s\"'`]{4,80})",
    ),
    "@|user|usr|admin|root": (
        r"(?<![\w.+-])[\w.+-]{1,60}@[\w-]{1,60}\.[\w.-]{2,60}\s?[/|:]\s?[\"'`]?(?P<p>[^\s\"'`/]{6,80})(?!\S)",
        r"(?<!//)\b(?:user|username|usr)\s?(?:/\s?(?:pass\w*|pw|pwd))?\s?[:=]\s{0,8}[\"'`]?[^\s\"'`/|:,]{2,60}\s?[/"
        r"|:]\s?[\"'`]?(?P<p>[^\s\"'`]{4,80})",
        r"(?<![\w/.-])(?:admin|root|administrator)\s?[/:]\s?(?P<p>[^\s\"'`/]{6,80})(?!\S)",
    ),
    " p:|p=|\tp:": (r"\bu(?:ser|sr)?\s?[:=]\s?[^\s,;]{1,60}[,;\s]{1,3}p(?:ass|w"
        r"|wd)?\s?[:=]\s?[\"']?(?P<p>[^\s\"'`]{4,80})",),
    "mysqli(|mysqli_connect(|pdo(|smtp.start(|ftp_login(|imap_open(|ldap_bind(": (
        r"(?:mysqli|mysqli_connect|pdo|smtp\.start|ftp_login|imap_open|ldap_bind)\((?:[^,()\n]{1,80},){2,4}?\s?"
        r"[\"'](?P<p>(?=[^\"'\n]{0,60}\d)[^\"'\n]{4,200})[\"']",
        r"(?:mysqli|mysqli_connect|pdo)\((?:[^,()\n]{1,80},){2}\s?[\"'](?P<p>[^\"'\n\d]{4,200})[\"']",
    ),
    "send_keys|sendkeys": (r"send_?keys\([\"'](?P<p>[^\"'\n]{4,200})[\"']",),
    "getconnection|signin|createuser|authenticate(": (
        r"(?:getConnection|signIn\w{0,40}|createUser\w{0,40}"
        r"|authenticate)\([^()\n]{0,120},\s?[\"'](?P<p>[^\"'\n]{4,200})[\"']",
    ),
    "sqlplus": (r"\bsqlplus\b[^\n]{0,80}?\s\w{1,40}/(?P<v>[^\s@/]{3,80})@",),
    "digest": (r"\bdigest\b[^\n]{0,400}?response=[\"']?(?P<v>[0-9a-f]{32,64})",),
    "securestring": (r"securestring\s{1,8}(?:-string\s{1,8})?[\"'](?P<v>[^\"'\n]{3,200})[\"']",),
    "credential(": (r"credentials?\(\s?[\"'][^\"'\n]{1,80}[\"'],\s?[\"'](?P<v>[^\"'\n]{3,200})[\"']",),
    " is your |code": (r"(?<![\w-])(?P<v>(?:[a-z]-)?\d{3}[ -]?\d{1,5})\s{1,8}is\s{1,8}your\s[^.\n]{0,40}?\b(?:code"
        r"|otp|pin|passcode|password)\b",),
    "verif|confirm|authenticat": (
        r"\b(?:use|enter|type|code|with|by)\s{1,8}(?P<v>(?:[a-z]-)?\d{3}[ -]?\d{1,5})\s{1,8}(?:to|when"
        r"|and)\s[^.\n]{0,20}?(?:verify|confirm|authenticat|log|sign)",
    ),
}  # fmt: skip
_BY_SIGN: dict[str, list[str]] = {}
for _signs, _forms in (*_FORMS.items(), *COMMAND_FORMS.items()):
    for _sign in _signs.split("|"):
        _BY_SIGN.setdefault(_sign, []).extend(_forms)
_SIGN_STARTS: dict[str, list[str]] = {}
"""Sign → the signs that begin with it; none of the keys begins with another."""
for _sign in sorted(_BY_SIGN, key=len):
    _SIGN_STARTS.setdefault(next((each for each in _SIGN_STARTS if _sign.startswith(each)), _sign), []).append(_sign)
_SIGN = re.compile(f"(?=({any_of(_SIGN_STARTS)}))")
_ORDER = {sign: place for place, sign in enumerate(_BY_SIGN)}
_ODD = re.compile(
    r"[=/|_@\"`({]| -|obscure |:\S|\bnet use|\d to |is your |keypad|digits on|key ?box|enticator|enable "
    r"|community |appid|setcookie|identified by|[\s(]'\S"
)
"""What every place without a word for secrets has, and few sentences."""
_PGPASS = re.compile(r"^[\w.*-]{1,100}:(?:\d{2,5}|\*):[\w*-]{1,60}:[\w*.-]{1,60}:(?P<v>\S{3,200})\s{0,8}$", re.M)
_SECRET_DATA = re.compile(r"^([ \t]{0,20})data:[ \t]{0,8}\n((?:\1[ \t][^\n]{1,2000}(?:\n|\Z)){1,60})", re.M)
"""The data of a Kubernetes secret, each value in base64."""
_DATA_VALUE = re.compile(r":[ \t]{1,8}[\"']?(?P<v>[A-Za-z0-9+/]{8,4000}={0,2})[\"']?[ \t]{0,8}$", re.M)
_PASSWORD_OPTION = re.compile(r"-[\w-]{0,30}?(?:password|passwd|passphrase|pass|pwd|pw)[=\s]", re.I)
_CALLS = (
    " -",
    "login(",
    "connect(",
    "credential(",
    "auth=",
    "auth =",
    "jwt.",
    "jwt::",
    "jsonwebtoken",
    "hmac",
    "set_password(",
    "getconnection",
    "mysqli(",
    "mysqli_connect(",
    "pdo(",
)
_PROMPT = re.compile(
    r"^(?P<asked>(?:\[sudo\] |(?:please |re-?)?enter |retype |verify |type |confirm |current |new |old |unix "
    r"|\S{1,40}'s )*)"
    r"(?:the |your )?(?:password|passphrase|passwd|passcode|pin)\b"
    r"[^\n:?]{0,80}:[ \t]{1,3}(?P<v>[^\s(<*\[][^\n]{2,80})$",
    re.I | re.M,
)
"""What a program asks for in a terminal, with the answer typed into the line."""
_CONSOLE = re.compile(r"^(?:\S{0,60}[$#%>]|\$|PS [A-Z]:\S*>) \S", re.M)
_KEY_OF_CACHE = re.compile(r"[\w{}-]{1,40}(?::[\w{}-]{1,40}){1,8}")
_CHECKED = ("authorization", " -", " -p", "config", "auth ", "credential(", "auth=", "login(", "connect(", "password")
_NOT_CASELESS = (" -P", "-[NP]", "-S\\b", "AUTH", "WIFI:", "\\s-A", "\\s-X", "\\s-P\\s", "PSK")


def placed_spans(text: str, low: str, named: bool) -> Iterator[Span]:
    """Where secrets stand by their place; `named` tells whether the text has a word for one."""
    if not named and not _ODD.search(text):
        return
    starts = ((m[1], m.start()) for m in _SIGN.finditer(low))
    found = {sign for start, at in starts for sign in _SIGN_STARTS[start] if low.startswith(sign, at)}
    signs = sorted(found, key=_ORDER.__getitem__)
    for form, sign in {form: found for found in signs for form in _BY_SIGN[found]}.items():
        for m in _compiled(form).finditer(text):
            yield from _value_spans(m, sign)
    if "kind: secret" in low:
        for data in _SECRET_DATA.finditer(text):
            yield from (m.span("v") for m in _DATA_VALUE.finditer(text, *data.span(2)))
    if "insert" in low:
        yield from _inserted_spans(text)
    if named and ":" in text:
        yield from _prompt_spans(text)
    if text.count(":") > 3:
        yield from (m.span("v") for m in _PGPASS.finditer(text) if not values.is_placeholder(m["v"]))


_INSERT = re.compile(r"\binsert\s{1,8}into\s{1,8}[^\s(]{1,80}\s{0,8}\(([^()\n]{1,400})\)\s{0,8}values\s{0,8}\(", re.I)
_SQL_VALUE = re.compile(
    r"\s{0,8}(?:N?'(?P<v>(?:[^'\n]|''){0,200})'|[^',()\n]{0,80}(?:\([^()\n]{0,80}\))?)\s{0,8}(?:,|\))"
)
_SECRET_COLUMN = re.compile(r"(?:pass(?:word|wd|phrase|code)?|pwd|secret|token|api_?key|pin)[`\"\]]?\s*\Z", re.I)


def _inserted_spans(text: str) -> Iterator[Span]:
    """Values of an INSERT that stand where a column for secrets does."""
    for m in _INSERT.finditer(text):
        at = m.end()
        for column in m[1].split(","):
            value = _SQL_VALUE.match(text, at)
            if value is None:
                break
            at = value.end()
            told = value["v"]
            if told and len(told) > 3 and _SECRET_COLUMN.search(column) and not values.is_placeholder(told):
                yield value.span("v")


def _prompt_spans(text: str) -> Iterator[Span]:
    prompts = [*_PROMPT.finditer(text)]
    on_console = bool(prompts) and _CONSOLE.search(text) is not None
    for m in prompts:
        typed = m["v"].rstrip()
        led = on_console or any(map(m["asked"].lower().__contains__, ("sudo", "enter", "type")))
        first = typed.split()[0]
        plain = values.is_placeholder(typed) or values.is_advice(first) or values.is_said_in_forms(typed)
        if led and not plain and not values.is_expression(typed) and not values.is_reference(typed):
            yield m.start("v"), m.start("v") + len(typed)


@cache
def _compiled(form: str) -> re.Pattern[str]:
    return re.compile(form, 0 if any(each in form for each in _NOT_CASELESS) else re.I)


def _value_spans(m: re.Match[str], sign: str) -> Iterator[Span]:
    for name, value in m.groupdict().items():
        if name == "u" or value is None:
            continue
        bare = value.rstrip(".,;:!?)`\"'") if name[0] in "pv" and sign not in ("://", "accountkey") else value
        if values.is_placeholder(bare) or len(bare) < 3:
            continue
        if name[0] == "p" and (not values.is_made_up(bare) or values.is_reference(bare)):
            if not _is_phrase(m, bare, sign):
                continue
        if sign in ("user", "usr", "@") and _KEY_OF_CACHE.fullmatch(bare):
            continue
        if sign == "=" and (values.is_technical(bare) or not (any(each.isdigit() for each in bare) and len(bare) > 5)):
            continue
        if (
            sign in _CHECKED
            and name == "v"
            and not _is_argument(bare, sign, _is_shell_literal(m, name))
            and not _is_phrase(m, bare, sign)
        ):
            continue
        yield m.start(name), m.start(name) + len(bare)


def _is_phrase(m: re.Match[str], value: str, sign: str) -> bool:
    """Whether words with hyphens after an option for passwords, or in a call that logs in, are a passphrase."""
    if sign == " -" and not _PASSWORD_OPTION.match(m[0]):
        return False
    return sign in _CALLS and values.is_worded(value)


def _is_shell_literal(m: re.Match[str], name: str) -> bool:
    """Whether a command has the value in single quotes, so that nothing in it is a variable or a call."""
    return m.string[m.start(name) - 1 : m.start(name)] == "'" and not m.string.startswith("(", m.start(name) - 2)


def _is_argument(value: str, sign: str, quoted: bool) -> bool:
    """Whether a word after an option is its value, and not the next word of a sentence about the option."""
    if not quoted and (values.is_expression(value) or values.is_reference(value)):
        return False
    if quoted and "(" in value and any(map(str.isdigit, value)):
        return True
    if sign == "authorization":
        return values.is_made_up(value) or len(value) > 24
    return values.is_made_up(value) or (len(value) > 5 and value.isascii() and not values.is_vague(value))
