"""Signs of a statement's kind in other languages: words of obligation, of request, of things that happened,
of states and of occasions.

The judge (rules/judge.py) learns what each sign means for the kind. English has no list here: there the judge learns
the words themselves, of which it has seen enough.
"""

from __future__ import annotations

import re

_DUTIES = (
    r"muss\w*|müssen|müsst\w*|(?:ich|wir|noch) soll\w*|soll\w* (?:ich|wir|noch)|erinner\w*|"
    r"denk\w* (?:bitte )?(?:dran|daran)|"
    r"vergess\w*|kümmer\w*|besorg\w*|noch zu \w+|fehlt noch|steht noch aus",
    r"ten(?:go|emos|éis)? (?:que|q)|tiene[ns]? que|hay que|debo|debemos|debe[ns]?|me (?:falta|queda)\w*|faltan?|"
    r"quedan? por|recu[eé]rda\w*|acu[eé]rdate|no (?:te )?olvid\w+|(?:se|me) encarg\w+|pendiente|neces\w+ \w+(?:ar|er|"
    r"ir)\w*",
    r"(?:il )?faut|faudra\w*|j[e']?\s?dois|(?:on|nous|tu|il|elle) do(?:it|is)|devons|doivent|(?:il )?(?:me )?reste à|"
    r"rappel\w+[- ]moi|(?:me|te|nous|lui) rappeler|pens\w+ à|oubli\w+|(?:s'|m')occup\w+",
    r"dev[oe]|dobbiamo|devono|dovr\w+|bisogna|(?:mi )?ricord\w+|mi manca\w*|manca (?:solo )?da|(?:ci|me ne) pens\w+|"
    r"(?:si|mi|me ne) occup\w+|segnat\w+|c'è da|entro",
    r"moet\w*|moest|herinner\w*|vergeet|regel\w*|zorgt? voor|nog even|nog \w+en",
    r"precis\w+|te(?:nho|mos|m) (?:que|de|q)|falta\w* \w+[aei]r|(?:me )?lembr\w+|esque[çc]\w+|fic(?:o|a|ou|aram) de|"
    r"fica por minha conta|devo",
    r"musz[ęe]|musi\w*|muszą|trzeba|przypomnij\w*|mam \w+ć|zostało|załatwi\w*|powin\w+|zapomn\w+|należy|zajm\w+ się",
)
_WIDE_DUTIES = (
    r"なきゃ|なければ|なくちゃ|ないと(?:いけ|だめ|まず|[。、！!]|$)|ねば|リマインド|忘れ(?:ない|ず|ねえ)|までに|宿題|"
    r"야 ?(?:해|돼|된|되|함|할|하)|알려 ?[줘주]|기로 (?:했|함|하)|할게|잊지|까먹지|리마인드|"
    r"提醒|还要|還要|还得|還得|得[去找把给給办交买打]|必须|必須|需要|别忘|別忘|记得|記得|之前要|负责|負責|搞定|由.{1,4}[去来來]"
)
_REQUESTS = (
    r"bitte|immer|nie(?:mals)?|ab (?:jetzt|sofort)|künftig|in zukunft|kein\w*|maximal|nenn\w*|duz\w*|siez\w*|frag\w*|"
    r"schreib\w*|antwort\w*|nutz\w*|verwend\w*|benutz\w*|sag|gib|sprich|lass",
    r"por ?fa(?:vor)?|siempre|nunca|(?:a partir de|de) ahora(?: en adelante)?|en lo sucesivo|no (?:me |te |le |lo |"
    r"la )?\w+[ae]s|"
    r"ll[aá]m[ae]\w*|resp[oó]nd\w+|h[aá]bl[ae]me|preg[uú]nt[ae]me|tut[eé]\w*|escr[ií]b[ae]\w*|us[ae]|pon(?:ga|me)?|"
    r"tr[aá]t[ae]\w+|nada de",
    r"s'il (?:te|vous) pla[iî]t|st?p|svp|toujours|jamais|désormais|dorénavant|à partir de maintenant|pas de|"
    r"ne \w+ (?:pas|jamais)|"
    r"appel\w+[- ]moi|tutoie\w*|vouvo\w+|répond[sez]*|écri[sv]\w*|utilis\w+|demande[- ]moi|évit\w+|fais|mets|"
    r"donne[- ]moi",
    r"per (?:favore|piacere)|sempre|mai|non (?:usare|\w+rmi|\w+are|\w+ere|\w+ire)|d'ora in (?:poi|avanti)|chiama\w+|"
    r"rispond\w+|"
    r"scriv\w+|chied\w+|niente|usa|dammi|dimmi|firmi",
    r"altijd|nooit|alsjeblieft|alstublieft|graag|vanaf nu|voortaan|gebruik|noem me|schrijf|vraag|geen|antwoord",
    r"se faz favor|(?:a partir de|de) agora(?: em diante)?|daqui p(?:a)?ra (?:a )?frente|não (?:us[ea]|mex\w+|"
    r"coloqu\w+|escrev\w+|"
    r"fal\w+|me)|respond[ae]\w*|escrev[ae]|me (?:cham[ae]|trat[ae]|pergunt[ae])|(?:trat|cham)[ae]-me|use|só \w+",
    r"zawsze|nigdy|prosz[ęe]|od (?:teraz|dziś)|nie \w+[auó]j|odpowiadaj|pisz|m[óo]w|(?:za)?pytaj|nazywaj|używaj|"
    r"żadn\w+|bez \w+",
)
_WIDE_REQUESTS = (
    r"てください|て下さい|(?:て|んで|いて)[。！!]?$|ないで|てほしい|必ず|いつも|これから|毎回|禁止|お願い|ように|といて|呼んで|てけ[れろ]|"
    r"주세요|주이소|[해써봐라려] ?줘|지 ?마|마세요|말아|항상|앞으로|꼭|불러|부탁|금지|물어봐|반드시|"
    r"请|請|不要|别(?!忘|人)|別(?!忘|人)|一律|以后|以後|一定要|千万|千萬|每次|就行|都[用写寫]|叫我|禁止|麻烦|只能|只用"
)
_HAPPENINGS = (
    r"gestern|heute (?:nacht|früh|morgen)|letzte[nrs]?|vorgestern|(?:hab|habe|haben|hat|hast|bin|ist|sind|wurden?|"
    r"war) .*"
    r"(?:\bge\w{2,}(?:t|en)|\w{3,}iert|\w+ge\w{2,}(?:t|en)|\b[vb]e\w{4,}(?:t|en))|war da|kommt am|findet",
    r"ayer|anoche|anteayer|pasad[oa]|(?:he|ha|hemos|han|has) \w+(?:ado|ido|to|cho|sto)|\w{2,}(?:ó|ieron|aron|aste|"
    r"iste)|nos casamos|"
    r"mañana|esta mañana",
    r"hier|ce matin|(?:j'ai|ai|as|a|avons|avez|ont|est|sont|suis|sommes|s'est) (?:\w+ ){0,2}\w{1,}(?:é|ée|és|ées|i|"
    r"is|ise|u|us|ue|ues|it|ert)|"
    r"prévue?|décalée?|partons|pars",
    r"ieri|stamattina|stanotte|stasera|l'altro ieri|(?:ho|hai|ha|abbiamo|hanno|è|sono|"
    r"siamo) (?:\w+ )?\w{1,}(?:at[oaie]|ut[oaie]|it[oaie]|so|sa|sto|sta|tto|tta|rto)|"
    r"spostat\w+|scors\w+",
    r"gisteren|vanmorgen|vanochtend|eergisteren|vorige|(?:heb|hebben|heeft|is|zijn|ben|was|werd) .*(?:\bge\w{2,}(?:d|"
    r"t|en)|\w+ge\w{2,}(?:d|t|en)|\b[vbo][enp]\w{4,}(?:d|t|en))|"
    r"verplaatst",
    r"ontem|hoje de manhã|passad[oa]|anteontem|\w{3,}(?:ou|eu|iu|aram|eram|iram|ámos)|(?!sei\b|farei\b)\w{3,}ei|foi|"
    r"veio",
    r"wczoraj|dzi[śs]|jutro|\w{2,}(?:łem|łam|liśmy|łyśmy|łeś|łaś|ło|ł|li|ły)|\w+ęt[yaeo]|urodził\w*",
)
_WIDE_HAPPENINGS = (
    r"ました|した[。！!]|した$|った[。！!]|った$|があります|延期|昨日|先週|今朝|昨夜|生まれ|行ってき|"
    r"[었았했됐였났샀쳤갔왔]|어제|지난|오늘 아침|연기|"
    r"了[。！!，,]|了$|昨天|昨晚|今早|今天早上|上周|上週|上个?月|推迟|推遲|出生|[号號日]我?[要去]|改到|定在"
)
_STATES = (
    r"seit|jede[nrsm]?|jetzt|heißt|wohn\w+|arbeit\w+|nicht mehr|inzwischen|läuft|steht|liegt|\w+tags",
    r"desde|ahora|viv[eo]\w*|trabaj[ao]\w*|cada|los (?:lunes|martes|miércoles|jueves|viernes|sábados|domingos)|"
    r"tod[oa]s l[oa]s|soy|"
    r"somos|está|es|ya no|se llama|tiene|tengo \d+",
    r"depuis|maintenant|habit\w+|travaill\w+|chaque|tou(?:s|tes) les|le (?:lundi|mardi|mercredi|jeudi|vendredi|"
    r"samedi|dimanche) (?:je|on|il)|"
    r"s'appelle|n'est plus|ne \w+ plus|tourne|suis|c'est",
    r"da quando|adesso|ora|abit\w+|ogni|lavor\w+|tutt[ie] (?:i|le)|si chiama|non \w+ più|il (?:lunedì|martedì|"
    r"mercoledì|giovedì|venerdì|sabato) (?!\d)|gira|sono",
    r"sinds|nu|woon\w*|werk\w*|elke?|iedere?|heet|niet meer|draait|op (?:maandag|dinsdag|woensdag|donderdag|vrijdag|"
    r"zaterdag|zondag) \w+ ik",
    r"agora|mor[ao]\w*|trabalh\w+|tod[oa]s? (?:os|as|dia|semana)|às (?:segundas|terças|quartas|quintas|sextas)|"
    r"chama-se|se chama|sou|é|não \w+ mais|está|estou",
    r"od (?!teraz)\w+|teraz|mieszk\w+|pracuj\w+|każd\w+|w (?:poniedziałki|wtorki|środy|czwartki|piątki|soboty|"
    r"niedziele)|jest(?:em)?|nazywa się|już nie|stoi",
)
_WIDE_STATES = (
    r"毎週|毎日|毎朝|今は|住んで|働いて|ています|てます|です|名前|から.*て(?:い|ま)|"
    r"매주|매일|지금|살고|있어요|부터|이에요|예요|이고|입니다|"
    r"每[周週天月年]|现在|現在|住在|是|[月年]起|对.*过敏|喜欢|喜歡"
)
_OCCASIONS = (
    r"termin|\w*gespräch|\w*prüfung|hochzeit|\w*feier|\w*abend|konzert|flug|\w*versammlung|op|nächste[nrs]?",
    r"cita|examen|boda|concierto|reunión|vuelo|vista|operan|nos casamos|llega[ns]?",
    r"rdv|rendez-vous|mariage|réunion|examen|audience|concert|vol|débarque\w*",
    r"visita|appuntamento|matrimonio|si sposa\w*|riunione|esame|assemblea|concerto|volo|arriva\w*|viene",
    r"afspraak|vergadering|bruiloft|feest|concert|vlucht|examen|komt",
    r"consulta|reunião|casamento|prova|exame|festa|show|voo|chega\w*",
    r"wizyt\w+|spotkani\w+|ślub\w*|egzamin\w*|wesel\w+|koncert\w*|lot|przyjeżdża\w*",
)
_WIDE_OCCASIONS = (
    r"検査|歓迎会|会議|打ち合わせ|結婚式|面接|試験|引っ越|검사|회의|결혼식|약속|시험|면접|콘서트|잔치|소풍|会议|會議|考试|考試|婚礼|婚禮|"
    r"检查|檢查|面试|面試|评审|出差"
)


def _sign(words: tuple[str, ...], wide: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w'-])(?:{'|'.join(words)})(?![\w-])|{wide}", re.I)


_SIGNS = {
    "duty": _sign(_DUTIES, _WIDE_DUTIES),
    "request": _sign(_REQUESTS, _WIDE_REQUESTS),
    "happening": _sign(_HAPPENINGS, _WIDE_HAPPENINGS),
    "state": _sign(_STATES, _WIDE_STATES),
    "occasion": _sign(_OCCASIONS, _WIDE_OCCASIONS),
}
MAX_CHARACTERS = 300
"""How much of a sentence is searched. Chosen by hand, to bound the time; not measured."""


def foreign_signs(sentence: str) -> list[str]:
    """The names of the signs that a sentence in another language has."""
    text = sentence[:MAX_CHARACTERS].replace("’", "'")
    return [name for name, sign in _SIGNS.items() if sign.search(text)]
