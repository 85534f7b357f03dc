"""The places where commands, device consoles and short programs take a secret without a word for it.

Each form is looked for where its sign is in the text, in small letters; `places` reads them. A group named "p" must
look like a password, any other must only be no placeholder.
"""

from __future__ import annotations

VALUE = r"(?:\"(?P<dq>[^\"\n]{3,200})\"|'(?P<sq>[^'\n]{3,200})'|(?P<v>(?![-<${(%|/*])[^\s\"'|>]{3,200}))"
"""A value of a command line: in quotes or up to the next blank, and not an option or a variable."""
_STRING = r"[\"'][^\"'\n]{1,80}[\"']"
_SECRET_NAME = r"(?:password|passwd|passphrase|pwd|secret|token|api_?key|private_key|access_key|credentials?)"

COMMAND_FORMS = {
    "net use": (
        r"\bnet use\b[^\n|;]{0,120}?\s/user:\S{1,80}\s{1,8}" + VALUE,
        r"\bnet use\s{1,8}(?:\S{1,3}\s{1,8})?\\\\\S{1,100}\s{1,8}" + VALUE,
    ),
    "net user": (r"\bnet user\s{1,8}[^\s/]{1,60}\s{1,8}" + VALUE,),
    "schtasks": (r"\bschtasks\b[^\n]{0,200}?\s/rp\s{1,8}" + VALUE,),
    "rclone obscure": (r"\brclone obscure\s{1,8}" + VALUE,),
    "wpa_passphrase": (r"\bwpa_passphrase\s{1,8}(?:\"[^\"\n]{1,40}\"|'[^'\n]{1,40}'|\S{1,40})\s{1,8}" + VALUE,),
    "iwconfig": (r"\biwconfig\b[^\n]{0,80}?\skey\s{1,8}(?:s:)?(?P<p>[^\s\"']{5,80})",),
    "setairportnetwork": (r"-setairportnetwork\s{1,8}\S{1,20}\s{1,8}(?:\"[^\"\n]{1,40}\"|\S{1,40})\s{1,8}" + VALUE,),
    "keymaterial": (r"\bkeyMaterial\s?[=>]\s?[\"']?(?P<v>[^\s\"'<>]{4,80})",),
    "usermod|useradd": (r"\b(?:usermod|useradd)\b[^\n|;]{0,100}?\s-p\s{1,8}" + VALUE,),
    "<<<": (
        r"\b(?:sudo\s{1,4}-S|kinit|passwd|cryptsetup|login|secrets?|gpg2?|chpasswd|vault|htpasswd|ssh-add)\b"
        r"[^\n|<]{0,80}<<<\s{0,3}" + VALUE,
    ),
    "<(echo|<(printf": (r"<\((?:echo|printf)\s{1,8}(?:-n\s{1,8}|[\"']%s(?:\\n)?[\"']\s{1,8})?" + VALUE.replace(""
    r"|>", "|>)"),),
    "kv put|etcdctl|redis-cli|put-parameter": (
        r"\b(?:kv put|etcdctl(?:\s--\S{1,80})* put|redis-cli(?:\s-\S{1,80})* set)\s{1,8}\S{0,100}?"
        + _SECRET_NAME + r"\s{1,8}(?P<v>[^\s\"'=]{3,200})(?!\S)",
        r"\bput-parameter\b[^\n]{0,200}?--value[ =][\"']?(?P<p>[^\s\"']{6,200})",
    ),
    "input_pw|user_pw|owner_pw": (r"\b(?:input|user|owner)_pw\s{1,8}" + VALUE,),
    "qpdf": (r"--encrypt\s{1,8}[\"']?(?P<v1>[^\s\"'-][^\s\"']{2,80})[\"']?"
        r"\s{1,8}[\"']?(?P<v2>[^\s\"'-][^\s\"']{2,80})",),
    "send \"": (r"\bsend\s{1,8}(?:--\s)?\"(?P<p>[^\"\n\\]{4,100})\\[rn]\"",),
    "snmp": (
        r"\bsnmp\w{0,20}\b[^\n|;]{0,200}?\s-A\s{1,8}[\"']?(?P<p1>[^\s\"']{6,80})",
        r"\bsnmp\w{0,20}\b[^\n|;]{0,200}?\s-X\s{1,8}[\"']?(?P<p1>[^\s\"']{6,80})",
        r"\bsnmp\w{0,20}\b[^\n|;]{0,200}?\s-c\s{1,8}[\"']?(?P<p>[^\s\"']{4,80})",
        r"\bsnmp-server\s{1,8}community\s{1,8}(?P<p>\S{4,80})",
    ),
    "setuser": (r"\bsetuser\b[^\n]{0,100}?\s>(?P<v>\S{3,100})",),
    "enable secret|enable password|secret 0|secret 5|secret 8|secret 9|key 7|key 0": (
        r"\benable\s{1,8}(?:secret|password)\s{1,8}(?:level\s\d{1,2}\s{1,8})?(?:\d\s{1,8})?(?P<p>\S{4,200})(?!\S)",
        r"\b(?:secret|key)\s{1,8}[05-9]\s{1,8}(?P<v>[^\s\"']{4,200})(?!\S)",
    ),
    "stdin": (
        r"\bprintf\s{1,8}(?:[\"']%s(?:\\n)?[\"']\s{1,8})?" + VALUE + r"\s{0,8}\|[^\n]{0,200}--(?:password-stdin"
        r"|with-token|passphrase-fd|stdin)",
    ),
    ".begin(|username_pw_set|authenticate(|.auth(|setcredentials|credentials(|basicauth|usernamepassword": (
        r"\b(?:WiFi\w{0,10}\.begin|username_pw_set|authenticate|\w{0,20}\.auth|set_?credentials|\w{0,30}credentials?"
        r"|set_?basic_?auth|UsernamePassword\w{0,30})\(\s?" + _STRING + r",\s?[\"'](?P<p>[^\"'\n]{4,200})[\"']",
    ),
    "variable \"": (
        r"\bvariable\s{1,4}\"[\w-]{0,60}?" + _SECRET_NAME
        + r"\"\s{0,4}\{[^{}]{0,400}?\bdefault\s{0,8}=\s{0,8}\"(?P<v>[^\"\n]{4,300})\"",
        r"\bvariable\s{1,4}\"[\w-]{0,60}?_key\"\s{0,4}\{[^{}]{0,400}?\bdefault\s{0,8}=\s{0,8}\"(?P<p>[^\"\n]{8,300})\"",
    ),
    "default": (
        r"(?:password|passwd|passphrase|secret|token"
        r"|api_?key)[\"']?\s{0,3}[:=]\s{0,8}\{?\s{0,20}(?:[\"']?\w{1,20}[\"']?\s?:"
        r"\s?[^\n,{}]{1,80}[\n,]\s{0,20}){0,4}[\"']?default[\"']?\s?[:=]\s?[\"']?(?P<p>[^\s\"'{},]{6,200})",
    ),
    "accounts|wallet|privatekey|from_key|secretkey|fromhex|signer": (
        r"\b(?:accounts?|\w{0,20}Wallet|\w{0,20}PrivateKeys?\w{0,20}|from_key|fromSecretKey|fromHex|signer)\b[\"']?"
        r"\s{0,3}[:=(]{1,2}\s{0,3}[\[(]?\s{0,20}[\"'](?P<v>(?:0x)?[0-9a-f]{64})\b",
    ),
    "client(|twilio(|search(|pusher(|service(|session(|account(": (
        r"\b\w{0,20}(?:client|twilio|search|pusher|service|session|account)\(\s{0,4}" + _STRING
        + r",\s{0,4}[\"'](?P<v>(?=[a-z]{0,24}\d)(?=\d{0,24}[a-z])[0-9a-z]{24,64})[\"']",
    ),
    "setcookie": (r"-setcookie\s{1,8}" + VALUE,),
    "btoa(": (r"\bbtoa\(\s?[\"'`][\w.@-]{1,60}:(?P<v>[^\"'`\n$]{4,100})[\"'`]",),
    "encrypt_string": (r"\bencrypt_string\s{1,8}(?:--\S{1,60}\s{1,8}){0,3}" + VALUE,),
    "mosquitto_": (r"\bmosquitto_\w{1,10}\b[^\n|;]{0,200}?\s-P\s{1,8}" + VALUE,),
    "smbclient": (r"\bsmbclient\s{1,8}[\"']?[/\\]{2}\S{1,100}\s{1,8}" + VALUE,),
    "psk \"|eap \"|xauth \"": (r":\s{1,8}(?:PSK|EAP|XAUTH)\s{1,8}\"(?P<v>[^\"\n]{4,100})\"",),
    "secret|* \"": (
        r"(?:^|\n)[ \t]{0,8}\"?[\w.@\\*-]{1,60}\"?"
        r"[ \t]{1,20}[\w.*-]{1,60}[ \t]{1,20}\"(?P<v>[^\s\"]{4,100})\"[ \t]{1,20}\*",
    ),
    "nmcli": (r"\bnmcli\b[^\n|;]{0,160}?\s(?:password|wifi-sec\.psk)\s{1,8}" + VALUE,),
    "58.decode": (r"58\.decode\(\s?[\"'](?P<v>\w{40,90})[\"']",),
    "\"kty\"|'kty'|kty\\\"": (
        r"[{,\s]\\?[\"'](?:d|p|q|dp|dq|qi|k)\\?[\"']\s?:\s?\\?[\"'](?P<v>[\w+/=-]{10,1400})\\?[\"']",
    ),
    "oracle:thin": (r"\bthin:\w{1,40}/(?P<v>\S{3,80}?)@(?=[\w/(])",),
    "@": (
        r"(?<![\w/:.@%+-])(?!(?:mailto|contact|e-?mail|mail|acct|from|to|cc|bcc|sip|xmpp|user|username|login"
        r"|reply-to|by|at|author"
        r"|maintainer|owner|cc-by):)[\w.-]{1,40}:(?P<p>[^\s/:@\"'<>(){}]{6,80})@(?=localhost\b"
        r"|\d{1,3}(?:\.\d{1,3}){3}\b"
        r"|[a-z][\w-]{0,60}(?:\.[a-z][\w-]{0,60}){1,6}\b|[a-z][\w-]{0,60}:\d{2,5}\b)",
    ),
    "jwt.|jwt::|jsonwebtoken": (
        r"\b(?:jwt|jsonwebtoken)\w{0,10}(?:\.|::)\w{1,20}\([^()\n]{0,100}?,\s?[brf]?[\"'](?P<p>[^\"'\n]{6,200})[\"']",
    ),
    "hmac": (
        r"hmac\w{0,20}(?:\.new)?\(\s?(?:[\"']sha-?\d{1,3}[\"'],\s?)?[brf]?[\"'](?P<p>[^\"'\n]{6,200})[\"']",
    ),
    "fernet(|secretbox(|aesgcm(|aes.new(|cipher(|cipheriv(": (
        r"(?:fernet|secretbox|aesgcm|aes\.new|cipher|cipheriv)\(\s?(?:[\"'][\w-]{3,20}[\"'],\s?)?[brf]?[\"']"
        r"(?P<p>[^\"'\n]{12,200})[\"']",
    ),
    "set_password(|setpassword(|plainauth(|password(": (
        r"set_?password\((?:[^()\n]{0,80},)?\s?[brf]?[\"'](?P<p>[^\"'\n]{4,200})[\"']\s?\)",
        r"PlainAuth\([^()\n]{0,80}?,\s?\"[^\"\n]{1,80}\",\s?\"(?P<v>[^\"\n]{4,200})\"",
    ),
    "check_password(|checkpw(|verify(|unlock(|decrypt(|compare": (
        r"\b(?:check_?password|checkpw|verify|unlock|decrypt|compare(?:Sync)?)\(\s?[brf]?[\"'](?![0-9a-f]{32})(?P<p>[^\s\"']{6,100})[\"']",
    ),
    "connect(": (
        r"\bconnect\((?:[^()\"'\n]{1,60},){0,3}\s?" + _STRING + r",\s?[\"'](?P<p>[^\"'\n]{4,200})[\"']\s?\)",
    ),
    "== \"|== '|!= \"|!= '": (
        r"\b\w{0,20}(?:input|guess|attempt|entered|typed|answer|pass|pwd|pin|code)\b\s?[=!]==?\s?[\"'](?P<p>[^\s\"']{6,80})[\"']",
    ),
    ".type(|.fill(|setvalue(|sendkeys(|send_keys(": (
        r"passw\w{0,10}[^\n]{0,40}\)?\.(?:type|fill|send_?keys|setValue|val)\(\s?(?:[\"'][^\"'\n]{1,60}[\"'],\s?)?[\"']"
        r"(?P<v>[^\"'\n]{4,100})[\"']",
    ),
    "psk '|psk \"": (r"\bpsk\s{1,8}[\"']{1,3}(?P<v>[^\"'\n]{8,63})[\"']",),
    "community": (r"snmp\w{0,10}community[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?P<v>(?!public\b)[^\s\"']{4,80})",),
    "<auth-user-pass>": (r"<auth-user-pass>\s{0,4}[^\s<]{1,80}[ \t]{0,4}\n\s{0,4}(?P<v>[^\s<]{4,100})",),
    "appid": (
        r"appid[\"']?\s?[:=]\s?[\"']?(?P<v>[0-9a-f]{32})\b",
        r"\b(?P<v>[0-9a-f]{32})\b[^\n]{0,20}\bappid\b",
    ),
    ".sign(": (r"\.sign\([^\n]{0,120}?,\s?[\"'](?P<p>[^\"'\n]{8,200})[\"']",),
    "@tcp(": (r"(?<![\w.-])[\w.-]{1,40}:(?P<v>[^\s:@\"']{3,80})@tcp\(",),
    "base64encoded:": (r"\bbase64Encoded:\s?\"(?P<v>[\w+/=-]{24,200})\"",),
    "psk=": (r"\bpsk=\"(?P<v>[^\"\n]{8,63})\"",),
    "passwd": (r"\becho\s{1,8}-e\s{1,8}[\"'](?P<v1>[^\"'\\\n]{3,80})\\n(?P<v2>[^\"'\\\n]{3,80})[\"']\s{0,8}\|",),
    "%5d=": (r"(?:password|passwd|secret|token)\w{0,20}%5D=(?P<v>[^\s&\"']{3,200})",),
}  # fmt: skip
"""Signs, several of them set off by "|", and the forms to look for where one of them is."""
