"""Everyday words: so common that their presence in a text says little about what the text is about.

`SMALL_WORDS` carry grammar only. `EVERYDAY_WORDS` carry some meaning, but stand in texts about anything. Scripts
without spaces are listed by pairs of characters, as the index has them.
"""

from __future__ import annotations

from itertools import pairwise

from holdfast.text.tokens import STOP_WORDS, tokens

_SMALL = """
although because else even ever every however let's nor off onto out over per since such though through thus too
under until unless up upon very via were weren't while within without yet
aber als am an auch auf aus bei bin bis da das dass dem den denn der des die doch ein eine einem einen einer eines
er es für ich ihm ihn ihr ihre im in ist ja kein keine man mein meine meinem meinen meiner mich mir mit nach nicht
noch nur oder ob sein seine sich sie sind so über um und uns unser unsere vom von vor was weil wenn wer wie wir wo
zu zum zur
au aux avec ce ces cette dans des donc elle elles en est et eux il ils je la le les leur leurs lui ma mais mes moi
mon ne nos notre nous où par parce pas pour qui que quand sa sans se ses sont sur ta tes toi tu un une vos votre
vous
al con como cuando de del el ella ellos esa ese eso esta este esto hay las los lo más me mi mis muy ni nos para pero
por porque pues si sin sobre su sus también te tiene un una uno unos y ya yo
che chi ci come con da dal dei del della delle di è ed gli ha ho il io la le lei loro lui ma mi mia mie miei mio nel
nella non ogni per perché più quando se sei si sono su sua suo tra tu una uno vi
ao aos as com da das dele dela do dos e ela ele em essa esse esta este eu isso mas meu meus minha minhas na nas no
nos num numa não o os para pela pelo por quando que se sem seu seus sua suas são também tem um uma
aan bij dan dat de deze die dit een en er haar heb hebben heeft het hij hoe ik is kan maar met mijn naar niet nog of
om ons onze ook op over te toch uit van voor waar want was wat we wel werd wie zij zijn zo
и в на не что я он она они мы вы это как у к за из по от но а же бы то так ещё уже или если для мой моя моё мои меня
мне
"""
_EVERYDAY = """
able actually add again ago agent all almost alone already always anybody anyone anything anyway apart around ask
asked assistant away back bad become been before began begin being best better between big bit both bring bought buy
call called came cannot change check come day days different done down each early easy end enough evening everybody
everyone everything example fact far feel few find fine first forget forgot found full gave generally get gets
getting give given go goes going gone good got great guess had half happen happy hard hear heard hello help here hey
hi hope hour hours idea important instead issue keep kept kind knew last late lately later least leave left less let
like liked likes little live lives lived long look looking lot lots love made main make makes making many matter may
maybe mean meant message mine minute minutes moment month months more morning most much must my myself name named
need needs never new next nice night nobody nothing number often oh ok okay old once one only other others own part
people person place plan planning plans please possible pretty probably problem put question quite rather really
reason recently remember remind reminder right said same say saying says see seem seems seen sent several shall show
side simply small someone something sometimes soon sorry start started still stop story stuff sure take taken talk
tell than thank thanks thing things think thinking thought three time times today together told tomorrow tonight
took true try trying turn two type understand use used user users using usually wait want wanted wants way week
weekend weeks well went whatever whole work worked working works world write wrong year years yeah yes yesterday
bitte danke gern gerne gibt gut habe haben hallo heute immer jetzt kann leider machen macht mag mehr möchte morgen
muss nächste neu neue schon sehr tag tage viel viele vielleicht wieder wird wurde zeit benutzer nutzer
aime aller aujourd'hui aussi avoir beaucoup bien bonjour chaque comme demain depuis dire encore être faire fait jour
jours merci peut plus quelque rien temps toujours tout toute toutes tous très utilisateur utilisatrice vais voir
ahora algo año años aquí bien bueno cada cosa después día días dice estar estoy ser está gracias gusta gustan hace
hacer hola hoy mañana mucho nada necesito nunca otra otro puede quiero siempre solo soy tengo tiempo todo todos
usuario usuaria vez voy
adesso anche anni anno ancora bene ciao cosa dopo domani essere fare fatto giorno giorni grazie molto niente oggi
piace posso prima qualcosa questa questo sempre tempo tutto utente vorrei
agora ainda algo ano anos aqui bem bom cada coisa depois dia dias estou fazer gosto hoje mais muito nada obrigado
olá pode preciso quero sempre sou tempo tenho tudo usuário vez vou
altijd bedankt dag dagen doen goed graag hallo iets jaar kunnen maken meer moet morgen niets nieuwe tijd vandaag
veel wordt gebruiker
буду был была были быть все всегда год день если есть ещё завтра люблю много могу можно надо нравится нужно очень
пользователь пользователя сегодня сейчас спасибо только хочу
"""
_UNSPACED = """
用户 使用者 我的 我是 我有 我们 他的 她的 你的 这个 那个 一个 一些 什么 没有 可以 因为 所以 但是
还有 非常 喜欢 觉得 知道 今天 明天 昨天 现在 时候 东西 事情 问题 谢谢 你好 自己 已经 需要 想要
ユーザー ユーザ です ます ました ません でした している ています ていた という こと もの それ これ
あれ ここ そこ 私は 私の 今日 明日 昨日 好き 思い ください ありがとう から まで ので けど
사용자 사용자는 있습니다 합니다 입니다 했습니다 저는 제가 나는 그리고 하지만 오늘 내일 어제 지금 좋아
ผู้ใช้ ฉัน ผม เป็น และ ของ ที่ ใน มี ได้ ไม่ ให้ ว่า จะ
กับ วันนี้ พรุ่งนี้ เมื่อวาน ชอบ มาก
"""


def _stems(*texts: str) -> frozenset[str]:
    return frozenset(stem for text in texts for stem in tokens(text))


def _pairs(text: str) -> frozenset[str]:
    return frozenset("".join(pair) for word in text.split() for pair in pairwise(word)) | frozenset(tokens(text))


SMALL_WORDS = _stems(*STOP_WORDS, _SMALL)
"""Stems of words that carry grammar only: articles, pronouns, prepositions, conjunctions, auxiliary verbs."""
EVERYDAY_WORDS = (_stems(_EVERYDAY) | _pairs(_UNSPACED)) - SMALL_WORDS
"""Stems of common words with some meaning."""
