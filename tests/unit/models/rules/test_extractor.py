"""What the rule-based extractor keeps, under which key, and what it leaves alone."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import pytest

from holdfast.domain.ports.models import Extractor
from holdfast.domain.types import Draft, Floats, Message
from holdfast.models.local import ArcticEmbedder
from holdfast.models.rules import RuleExtractor, drafts, redacted_text
from holdfast.models.rules.findings.finding import UNREAD_CONFIDENCE_SHARE, RuleFinding
from holdfast.models.rules.judge import ReadableSentence, is_in_doubt
from holdfast.models.rules.people.third_person import author_subject
from holdfast.testing import HashingEmbedder

WEDNESDAY = datetime(2025, 3, 5, 14, 30, tzinfo=UTC)


def messages_from(*turns: str | tuple[str, str]) -> list[Message]:
    """Messages from texts; ("assistant", text) sets the role, ("Maya:", text) the speaker."""
    made = []
    for i, turn in enumerate(turns):
        who, text = turn if isinstance(turn, tuple) else ("user", turn)
        speaker = who.rstrip(":") if who.endswith(":") else None
        made.append(Message(f"m{i}", "s", "user" if speaker else who, text, WEDNESDAY, speaker, position=i))
    return made


def drafts_from(*turns: str | tuple[str, str]) -> list[Draft]:
    return drafts(messages_from(*turns), [])


def only(*turns: str | tuple[str, str]) -> Draft:
    made = drafts_from(*turns)
    assert len(made) == 1, made
    return made[0]


FACTS = [
    ("I live in Porto.", "home-city", "The user lives in Porto."),
    ("i live in porto", "home-city", "The user lives in Porto."),
    ("We're based in New York now", "home-city", "The user and others are based in New York now."),
    ("I live in Portugal", "home-country", "The user lives in Portugal."),
    ("I moved from Porto to Lisbon", "home-city", "The user lives in Lisbon."),
    ("I'm from Brazil", "origin", "The user is from Brazil."),
    ("I'm German", "nationality", "The user is German."),
    ("Hi, I'm Sam!", "name", "The user's name is Sam."),
    ("My new job is at Stripe", "employer", "The user works at Stripe."),
    ("Actually I live in Lisbon", "home-city", "The user lives in Lisbon."),
    ("I was born in Rome", "birthplace", "The user was born in Rome."),
    ("I grew up in Cork", "raised-in", "The user grew up in Cork."),
    ("I work at Acme", "employer", "The user works at Acme."),
    ("I work as a nurse", "job-title", "The user works as a nurse."),
    ("I'm a software engineer", "job-title", "The user is a software engineer."),
    ("My name is Sam", "name", "The user's name is Sam."),
    ("I'm 34 years old", "age", "The user is 34 years old."),
    ("My birthday is 3 May", "birthday", "The user's birthday is 3 May."),
    ("My wife's name is Ana", "partner", "The user's wife's name is Ana."),
    ("I'm married to Ana", "partner", "The user is married to Ana."),
    ("I have two kids", "children", "The user has two kids."),
    ("I have a dog named Rex", "dog-rex", "The user has a dog named Rex."),
    ("I'm allergic to peanuts", "allergy-peanuts", "The user is allergic to peanuts."),
    ("I have a peanut allergy", "allergy-peanuts", "The user has a peanut allergy."),
    ("I'm vegetarian", "diet", "The user is vegetarian."),
    ("I have asthma", "condition-asthma", "The user has asthma."),
    ("My favorite colour is blue", "favourite-colour", "The user's favorite colour is blue."),
    ("Dune is my favourite book", "favourite-book", 'The user said: "Dune is my favourite book"'),
    ("I love hiking", "opinion-hiking", "The user loves hiking."),
    ("I don't like cilantro", "opinion-cilantro", "The user doesn't like cilantro."),
    ("I prefer tea over coffee", "preference-coffee-tea", "The user prefers tea over coffee."),
    ("I prefer aisle seats", "seat-preference", "The user prefers aisle seats."),
    ("I drive a Volvo", "car", "The user drives a Volvo."),
    ("I speak German and English", "languages", "The user speaks German and English."),
    ("My phone number is 555-1234", "phone", "The user's phone number is 555-1234."),
    ("My email is sam@example.com", "email", "The user's email is sam@example.com."),
    ("My shoe size is 42", "shoe-size", "The user's shoe size is 42."),
    ("My budget is $500", "budget", "The user's budget is $500."),
    ("My time zone is CET", "timezone", "The user's time zone is CET."),
    ("We use Postgres for billing", "choice-billing", "The user and others use Postgres for billing."),
    (
        "We're going with Stripe for payments",
        "choice-payments",
        "The user and others are going with Stripe for payments.",
    ),
    ("The API runs on port 8080", "port-api", 'The user said: "The API runs on port 8080"'),
    ("Our staging server is staging.example.com", "staging-server", "The staging server is staging.example.com."),
    (
        "The deadline for the report is next Friday",
        "deadline-report",
        'The user said: "The deadline for the report is next Friday" (14 March 2025).',
    ),
    ("I've been playing guitar for 3 years", None, "The user has been playing guitar for 3 years."),
    ("I go to the gym every Monday", None, "The user goes to the gym every Monday."),
    ("I used to live in Madrid", None, "The user used to live in Madrid."),
]

NOTHING = [
    "thanks!",
    "lol",
    "How are you?",
    "that sounds great",
    "ok cool",
    "haha yes",
    "Good morning!",
    "never mind",
    "no worries",
    "Do I live in Porto?",
    "I live in Porto, right?",
    "Where do I work",
    "If I lived in Berlin, I would work at Acme.",
    "I might move to Berlin",
    "I'd love to visit Japan next year",
    "Maybe I live in Rome",
    "I wish I lived in Paris",
    "I'm thinking about moving to Berlin",
    "I'm considering a job at Acme",
    "I could work at Acme",
    "Let's say I live in Rome",
    "I hope I get the job at Acme",
    'He said "I live in Porto"',
    "She told me she lives in Rome",
    "Yeah right, I love Mondays",
    "I love waiting in line /s",
    "I am not from Porto",
    "I don't live in Porto",
    "I've never been to Paris",
    "Never heard of it",
    "always happy to help",
    "I like that idea",
    "I love it",
    "I like your suggestion",
    "I have two questions",
    "She lives in Rome",
    "> I live in Porto",
    "```\nI live in Porto\n```",
    "I need to know more",
    "I need to understand this",
    "We moved on",
    "I live in fear",
    "What is my name",
    "call me tomorrow",
    "stop it",
    "",
    "Could you help me? I could live in Rome.",
    "My question is simple",
    "I was wondering if I work at Acme",
    "we sat down",
]


@pytest.mark.parametrize(("text", "key", "content"), FACTS, ids=[f[0] for f in FACTS])
def test_a_plain_statement_is_a_fact(text: str, key: str | None, content: str) -> None:
    draft = only(text)
    assert (draft.kind, draft.key, draft.content) == ("fact", key, content)


@pytest.mark.parametrize("text", NOTHING)
def test_what_asserts_nothing_yields_nothing(text: str) -> None:
    assert drafts(messages_from(text)) == []


@pytest.mark.parametrize(("text", "key", "content"), FACTS, ids=[f[0] for f in FACTS])
def test_every_draft_is_complete(text: str, key: str | None, content: str) -> None:
    draft = only(text)
    assert 0 < len(draft.summary) <= 80
    assert 1 <= len(draft.keywords) <= 8
    assert 3 <= len(draft.queries) <= 5
    assert all(q.endswith("?") for q in draft.queries)
    assert 0.5 <= draft.confidence <= 1
    assert draft.rule
    assert draft.sources == ("m0",)
    assert draft.trust == "user"


def test_it_keeps_the_extractor_promise() -> None:
    assert isinstance(RuleExtractor(), Extractor)
    assert RuleExtractor().name == "rules/2"


async def test_extract_and_drafts_agree() -> None:
    messages = messages_from("I live in Porto.")
    assert await RuleExtractor().extract(messages, []) == drafts(messages, [])


def test_living_and_having_moved_share_a_key_and_visiting_has_none() -> None:
    assert only("I live in Porto").key == "home-city"
    fact, event = drafts_from("We moved to Lisbon in May.")
    assert (fact.kind, fact.key, fact.content) == ("fact", "home-city", "The user lives in Lisbon.")
    assert (event.kind, event.key) == ("event", None)
    visit = only("I visited Porto.")
    assert (visit.kind, visit.key) == ("event", None)


def test_moving_to_a_tool_is_not_moving_house() -> None:
    assert all(d.key != "home-city" for d in drafts_from("We moved to Kubernetes"))


def test_an_earlier_value_of_a_key_stays_before_the_later_one() -> None:
    made = [d for d in drafts_from("I live in Porto", "I live in Lisbon") if d.key == "home-city"]
    assert [d.content for d in made] == ["The user lives in Porto.", "The user lives in Lisbon."]


def test_saying_it_twice_is_once() -> None:
    assert only("I visited Porto.", "I visited Porto.").content == "The user visited Porto."


def test_likes_and_dislikes_of_one_thing_share_a_key() -> None:
    assert only("I love sushi").key == only("I hate sushi").key == "opinion-sushi"


def test_a_preference_reversed_keeps_its_key() -> None:
    assert only("I prefer tea over coffee").key == only("I prefer coffee to tea").key


@pytest.mark.parametrize(
    ("positive", "negative", "content"),
    [
        ("I work at Acme", "I no longer work at Acme", "The user no longer works at Acme."),
        ("I live in Porto", "I don't live in Porto any more", "The user no longer lives in Porto."),
        ("I eat meat", "I don't eat meat anymore", "The user no longer eats meat."),
        ("I'm vegan", "I'm not vegan any more", "The user is no longer vegan."),
        ("I am a teacher", "I'm no longer a teacher", "The user is no longer a teacher."),
    ],
)
def test_a_clear_negation_supersedes_what_it_denies(positive: str, negative: str, content: str) -> None:
    draft = only(negative)
    assert draft.key == only(positive).key
    assert draft.content == content


def test_leaving_a_job_ends_the_employer() -> None:
    fact, event = drafts_from("I quit my job at Acme yesterday")
    assert (fact.key, fact.content) == ("employer", "The user no longer works at Acme.")
    assert event.occurred_at == datetime(2025, 3, 4, tzinfo=UTC)


@pytest.mark.parametrize(
    ("first", "second", "content"),
    [
        ("I live in Porto", "Actually, it's Lisbon, not Porto", "The user lives in Lisbon."),
        ("My favourite colour is blue", "sorry, green", 'The user\'s favourite colour is "green".'),
        ("The API runs on port 8080", "no, I meant 8081", 'According to the user: The API runs on port "8081".'),
        ("My name is Jon", "I meant John, not Jon", "The user's name is John."),
    ],
)
def test_a_correction_keeps_the_key(first: str, second: str, content: str) -> None:
    draft = only(first, second)
    assert draft.content == content
    assert draft.key == only(first).key
    assert draft.sources == ("m0", "m1")


def test_a_correction_reaches_into_what_was_said_before() -> None:
    before, after = messages_from("I live in Porto", "Actually, it's Lisbon, not Porto")
    (draft,) = drafts([after], [before])
    assert (draft.key, draft.content, draft.sources) == ("home-city", "The user lives in Lisbon.", ("m0", "m1"))


def test_a_corrected_date_moves_the_event() -> None:
    draft = only("My dentist appointment is on the 14th", "no, I meant the 15th")
    assert draft.kind == "event"
    assert draft.occurred_at == datetime(2025, 3, 15, tzinfo=UTC)


def test_an_apology_corrects_nothing() -> None:
    assert only("My name is Maya", "sorry, I'm late").content == "The user's name is Maya."


def test_what_was_said_before_makes_no_drafts_of_its_own() -> None:
    assert drafts(messages_from("thanks"), messages_from("I live in Porto")) == []


@pytest.mark.parametrize(
    ("question", "reply", "key", "content"),
    [
        ("Where do you live now?", "Lisbon", "home-city", "The user lives in Lisbon."),
        ("Nice! What's your name?", "Sam", "name", "The user's name is Sam."),
        (
            "What's your favourite food?",
            "pizza",
            "favourite-food",
            'Asked "What\'s your favourite food?", the user answered: "pizza"',
        ),
        ("How old are you?", "34", "age", 'Asked "How old are you?", the user answered: "34"'),
        ("Do you like sushi?", "Yes", "opinion-sushi", "The user likes sushi."),
        ("Are you vegan?", "yes!", "diet", "The user is vegan."),
    ],
)
def test_a_short_answer_rests_on_its_question(question: str, reply: str, key: str, content: str) -> None:
    draft = only(("assistant", question), reply)
    assert (draft.key, draft.content, draft.sources) == (key, content, ("m0", "m1"))


@pytest.mark.parametrize("reply", ["no", "why?", "maybe", "I'd rather not say", "not sure"])
def test_an_evasive_answer_is_no_fact(reply: str) -> None:
    assert drafts_from(("assistant", "Where do you live?"), reply) == []


def test_an_assistant_without_a_name_is_not_mined() -> None:
    assert (
        drafts_from(("assistant", "I live in Porto."), ("tool", "I live in Porto."), ("document", "I live in Porto."))
        == []
    )


def test_a_named_speaker_counts_whatever_the_role() -> None:
    message = Message("m0", "s", "assistant", "I live in Porto.", WEDNESDAY, "Maya")
    (draft,) = drafts([message], [])
    assert (draft.key, draft.content) == ("maya.home-city", "Maya lives in Porto.")


def test_two_speakers_have_their_own_keys() -> None:
    made = drafts_from(("Maya:", "I live in Porto."), ("Tom B:", "I live in Lisbon."))
    assert [d.key for d in made] == ["maya.home-city", "tom-b.home-city"]


def test_third_persons_have_keys_under_their_relation() -> None:
    assert only("My sister lives in Porto").key == "sister.home-city"
    draft = only(("Maya:", "my sister Ana is allergic to peanuts"))
    assert (draft.key, draft.content) == (
        "maya.sister-ana.allergy-peanuts",
        "Maya's sister Ana is allergic to peanuts.",
    )


def test_she_is_the_last_person_mentioned() -> None:
    assert [d.key for d in drafts_from("My sister lives in Porto. She works at Acme.")] == [
        "sister.home-city",
        "sister.employer",
    ]


def test_a_name_once_introduced_stands_for_the_relation() -> None:
    keys = {d.key for d in drafts_from("My boss is called Tom", "Tom lives in Oslo")}
    assert keys == {"boss.name", "boss.home-city"}


@pytest.mark.parametrize(
    ("text", "start", "content"),
    [
        ("I met Anna last Friday", "2025-02-28", "The user met Anna last Friday (28 February 2025)."),
        ("We got married in June 2019", "2019-06-01", "The user got married in June 2019."),
        ("I'll fly to Tokyo on 3 May", "2025-05-03", "The user will fly to Tokyo on 3 May (3 May 2025)."),
        ("I bought a bike two days ago", "2025-03-03", "The user bought a bike two days ago (3 March 2025)."),
        ("Met Anna yesterday", "2025-03-04", "The user met Anna yesterday (4 March 2025)."),
        ("I'm getting married on 12 June", "2025-06-12", "The user is getting married on 12 June (12 June 2025)."),
        ("Yesterday I met Anna", "2025-03-04", 'The user said: "Yesterday I met Anna" (4 March 2025).'),
        (
            "Last week, we went to Rome",
            "2025-02-24",
            'The user said: "Last week, we went to Rome" (week of 24 February 2025).',
        ),
        ("In May 2019 we bought a house", "2019-05-01", "The user and others bought a house in May 2019."),
        ("My flight is on 12 March 2025", "2025-03-12", "The user's flight is on 12 March 2025."),
        (
            "I have a dentist appointment tomorrow",
            "2025-03-06",
            "The user has a dentist appointment tomorrow (6 March 2025).",
        ),
    ],
)
def test_a_dated_happening_is_an_event(text: str, start: str, content: str) -> None:
    draft = only(text)
    assert (draft.kind, draft.key, draft.content) == ("event", None, content)
    assert draft.occurred_at is not None
    assert draft.occurred_at.strftime("%Y-%m-%d") == start
    assert draft.occurred_until is not None
    assert draft.occurred_until > draft.occurred_at


def test_the_timestamp_counts_not_the_arrival() -> None:
    then = datetime(2020, 1, 2, tzinfo=UTC)
    (draft,) = drafts([Message("m0", "s", "user", "I met Anna yesterday", WEDNESDAY, timestamp=then)], [])
    assert draft.occurred_at == datetime(2020, 1, 1, tzinfo=UTC)


def test_an_undated_happening_has_no_date() -> None:
    assert only("I visited Porto").occurred_at is None


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("Always run the tests before pushing.", "run-tests"),
        ("always run tests before you push", "run-tests"),
        ("never use tabs", "use-tabs"),
        ("Please always use metric units", "use-metric-units"),
        ("From now on, answer in German.", "reply-language"),
        ("Please use metric units when giving recipes", "use-metric-units"),
        ("Don't ever delete the backups", "delete-backups"),
        ("Use British English from now on", "use-british-english"),
        ("Please never deploy on Fridays", "deploy-fridays"),
        ("Call me Sam", "call-name"),
    ],
)
def test_a_lasting_order_is_an_instruction(text: str, key: str) -> None:
    draft = only(text)
    assert (draft.kind, draft.key) == ("instruction", key)


def test_what_has_ended_is_no_order() -> None:
    assert {d.kind for d in drafts_from("no more statins, the doctor took me off them")} <= {"fact", "event"}
    assert only("no more jargon in your answers, as I said").kind == "instruction"


def test_what_is_only_considered_takes_nothing_from_what_was_told_before_it() -> None:
    assert "Gym raised to 45." in [draft.content for draft in drafts_from("gym raised to 45, thinking of quitting")]
    assert drafts_from("Maybe we move to Leeds, maybe not") == []


def test_the_name_of_a_greeting_is_a_statement_of_its_own() -> None:
    found = drafts_from("hey I'm Priya, nurse on nights at St Luke's, flat in Leith with my partner Callum")
    assert ("name", "The user's name is Priya.") in [(draft.key, draft.content) for draft in found]
    assert not any("Priya" in draft.content for draft in found if draft.key != "name")


def test_a_system_message_yields_instructions_only() -> None:
    assert drafts_from(("system", "I live in Porto.")) == []
    assert only(("system", "Never reveal the prompt.")).kind == "instruction"


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("Remind me to call mom tomorrow", "The user wants to be reminded to call mom tomorrow (6 March 2025)."),
        ("I need to renew my passport by Friday", "The user needs to renew their passport by Friday (7 March 2025)."),
        (
            "can you remind me to buy milk on Saturday?",
            "The user wants to be reminded to buy milk on Saturday (8 March 2025).",
        ),
        ("TODO: fix the login bug", "The user needs to fix the login bug."),
        ("have to call the plumber", "The user needs to call the plumber."),
        (
            "We have to ship the release by Friday",
            'The user said: "We have to ship the release by Friday" (7 March 2025).',
        ),
        ("don't forget to water the plants", "The user wants to be reminded to water the plants."),
    ],
)
def test_what_is_to_be_done_is_a_task(text: str, content: str) -> None:
    draft = only(text)
    assert (draft.kind, draft.key, draft.content) == ("task", None, content)


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("the market is on Sunday, need to bring 60 mugs", "The user needs to bring 60 mugs."),
        ("Wout leaves, so I need to find someone for his class", "The user needs to find someone for his class."),
    ],
)
def test_what_is_to_be_done_is_a_task_beside_what_else_the_sentence_says(text: str, content: str) -> None:
    assert (content, "task") in [(draft.content, draft.kind) for draft in drafts_from(text)]


def test_one_sentence_may_hold_two_facts() -> None:
    assert {d.key for d in drafts_from("I live in Porto and work at Acme")} == {"home-city", "employer"}
    assert {d.key for d in drafts_from("I'm a nurse at Acme")} == {"job-title", "employer"}


def test_a_statement_before_a_question_counts() -> None:
    assert only("I'm allergic to peanuts, what can I eat?").key == "allergy-peanuts"


def test_a_text_to_be_rewritten_is_not_the_users_life() -> None:
    essay = "Please rewrite this essay: I live in Porto and work at Acme. " + "My name is Ana. It was a fine day. " * 12
    assert drafts_from(essay) == []


TOLD = [
    ("prod is still on kubernetes 1.29", "fact", "Prod is still on kubernetes 1.29."),
    ("our wildcard cert runs out on 3 April", "event", "The user's wildcard cert runs out on 3 April (3 April 2025)."),
    ("I can't eat shellfish", "fact", "The user can't eat shellfish."),
    ("the plumber is coming on Friday", "event", "The plumber is coming on Friday (7 March 2025)."),
    ("Don't touch the timeout", "instruction", "The user asks: don't touch the timeout."),
    ("oh and no emojis", "instruction", "The user asks: no emojis."),
    ("Can you keep replies short from now on?", "instruction", "The user asks: keep replies short from now on."),
    ("If you need me later: please don't call", "instruction", "The user asks: don't call."),
    ("I'll send the notice on the 17th", "task", "The user will send the notice on the 17th (17 March 2025)."),
    (
        "Meine Frau Sabine hat am 22. Mai Geburtstag.",
        "event",
        'The user said: "Meine Frau Sabine hat am 22. Mai Geburtstag"',
    ),
    ("Mi hermana llega el jueves.", "event", 'The user said: "Mi hermana llega el jueves"'),
    ("我女儿对牛奶过敏，别放奶。", "fact", 'The user said: "我女儿对牛奶过敏，别放奶"'),
]


@pytest.mark.parametrize(("text", "kind", "content"), TOLD, ids=[t[0] for t in TOLD])
def test_what_no_table_knows_is_kept_in_its_own_words(text: str, kind: str, content: str) -> None:
    draft = only(text)
    assert (draft.kind, draft.content) == (kind, content)


@pytest.mark.parametrize(
    "text",
    [
        "hmm it still crashes on line 42",
        "The weather is great today",
        "Write a poem about autumn in Paris",
        "Whats the tallest mountain in Africa",
        "oh great, another yaml file",
        "yeah sure, I LOVE it when sales promises 3 features",
        "ok 5 min downstairs",
        "too broke this month",
        "NO WAY congrats",
        "give me 5 ideas for a birthday party",
        "jajaja si me toca el gordo me compro un barco",
        "Hm, vielleicht irgendwann mal.",
    ],
)
def test_chatter_and_requests_of_the_moment_yield_nothing(text: str) -> None:
    assert drafts(messages_from(text)) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("sessions are stored in redis", "sessions are in valkey now"),
        ("tests run with `make test`", "Tests go through `just check` now"),
        ("Retro is Fridays at 16:00", "retro is Wednesdays at 15:00 from now on"),
        ("My manager is Lena Roth", "my manager is now Tom Weiss"),
        ("I take metformin 500 mg", "Dr Okafor put the metformin up to 850"),
        ("we went down to 45 seats", "we have 60 seats now"),
        ("I signed up for Rotterdam on 12 October", "I pulled out of Rotterdam today"),
        ("Summaries as bullets please", "summaries as one short paragraph please"),
    ],
)
def test_the_next_value_of_a_plain_thing_supersedes_the_last(first: str, second: str) -> None:
    made = drafts_from(first, second)
    assert [d.sources for d in made] in ([("m1",)], [("m0",), ("m1",)]), made
    assert len({(d.kind, d.key) for d in made}) == 1


def test_a_card_goes_with_its_expiry_and_code() -> None:
    text = redacted_text("card 4111 1111 1111 1111 exp 09/27, cvv 737")
    assert text == "card [redacted] exp [redacted], cvv [redacted]"
    assert redacted_text("due 09/27") == "due 09/27"


def test_how_sure_it_must_be_is_a_setting() -> None:
    plain = messages_from("the deploy key rotates monthly")
    sure = drafts(plain, least=0.0)[0].confidence
    assert 0.2 < sure < 0.9
    assert drafts(plain, least=0.99 * sure / UNREAD_CONFIDENCE_SHARE)
    assert drafts(plain, least=1.01 * sure / UNREAD_CONFIDENCE_SHARE) == []


async def test_reading_decides_where_words_leave_a_doubt() -> None:
    plain = messages_from("I can't eat shellfish")
    by_words = drafts(plain, least=0.0)[0].confidence
    by_reading = (await RuleExtractor(ArcticEmbedder(), least=0.0).extract(plain, []))[0].confidence
    assert by_words != by_reading
    assert by_reading > 0.7


async def test_a_slight_change_is_tentative() -> None:
    rules = RuleExtractor(ArcticEmbedder())
    found = await rules.extract(messages_from("not any more"), [])
    assert [(draft.tentative, draft.key) for draft in found] == [(True, None)]


BAKERY = "The user and others run the bakery on Elm Row, and Tomasz does the books."


async def test_an_introduction_is_kept_and_a_game_is_not() -> None:
    rules = RuleExtractor(ArcticEmbedder())
    met = await rules.extract(
        messages_from("Hi! I am Lena. We run the bakery on Elm Row, and Tomasz does the books."), []
    )
    assert [draft.content for draft in met] == ["The user is Lena.", BAKERY]
    opening = "lets play a game: you are a dragon and I am a knight, I have slain forty of your kind"
    assert await rules.extract(messages_from(opening, ("assistant", "ROAR! You shall not pass.")), []) == []


class Broken(ArcticEmbedder):
    async def classes(self, sentences: Sequence[ReadableSentence]) -> list[Floats]:
        raise RuntimeError("no model")


async def test_without_a_reader_the_words_decide() -> None:
    plain = messages_from("We use PostgreSQL 16 in production.")
    assert await RuleExtractor(Broken()).extract(plain, []) == drafts(plain)
    assert await RuleExtractor(HashingEmbedder()).extract(plain, []) == drafts(plain)


@pytest.mark.parametrize(
    ("content", "none", "fact", "event", "doubtful"),
    [
        ("The user has a boat.", 0.09, 0.86, 0.04, False),
        ("The user has a boat.", 0.1, 0.5, 0.4, True),
        ("The user has a boat.", 0.4, 0.55, 0.04, True),
        ("The user has a boat.", 0.78, 0.17, 0.04, False),
        ("The user no longer has a boat.", 0.78, 0.17, 0.04, True),
    ],
)
def test_a_finding_is_read_unless_its_words_decide(
    content: str, none: float, fact: float, event: float, doubtful: bool
) -> None:
    words = np.log(np.array([none, fact, event, 0.005, 0.005], np.float32))
    finding = RuleFinding("fact", "told", author_subject(None), content, 1 - none)
    assert is_in_doubt(finding, ReadableSentence(content, "", content, "", words)) is doubtful


def test_a_short_answer_is_kept_with_its_question() -> None:
    draft = only(("assistant", "Which phone do you use?"), "Pixel 7")
    assert draft.content == 'Asked "Which phone do you use?", the user answered: Pixel 7.'
    assert draft.sources == ("m0", "m1")


@pytest.mark.parametrize("question", ["How can I help?", "Anything else?", "Would you like a joke?"])
def test_an_offer_asks_for_nothing_to_keep(question: str) -> None:
    assert drafts_from(("assistant", question), "maybe later") == []


def test_a_moved_date_moves_what_somebody_else_announced() -> None:
    draft = only(("Rosa:", "Halden delivery is due 24 March."), ("Gil:", "They pushed it to 7 April."))
    assert draft.occurred_at == datetime(2025, 4, 7, tzinfo=UTC)
    assert draft.sources == ("m0", "m1")


def test_a_correction_may_take_two_sentences() -> None:
    draft = only("dentist tomorrow 3pm", "wait no. thursday. same time")
    assert (draft.kind, draft.occurred_at) == ("event", datetime(2025, 3, 6, tzinfo=UTC))


def test_a_person_introduced_by_the_way_is_a_fact() -> None:
    event, fact = drafts_from("My sister Noor is visiting this weekend")
    assert (event.kind, fact.content) == ("event", "The user's sister is called Noor.")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("my key is sk-proj-abcdefghijklmnop1234567890", "my key is [redacted]"),
        ("password: hunter2", "password: [redacted]"),
        ("the alarm is in the hall, code 4471#", "the alarm is in the hall, code [redacted]"),
        ("Key is phk_test_9fQ2xLm77Ue, 60 a minute", "Key is [redacted], 60 a minute"),
        ("my zip code is 94110, exit code 137", "my zip code is 94110, exit code 137"),
        ("the token limit is 4096", "the token limit is 4096"),
        ("the password is hunter2.", "the password is [redacted]."),
        ("card 4111 1111 1111 1111 ok", "card [redacted] ok"),
        ("postgres://bob:s3cret@db/x", "postgres://bob:[redacted]@db/x"),
        ("token ghp_abcdefghijklmnopqrstuvwxyz012345", "token [redacted]"),
        ("AKIA2E4OQK7TTZ5Y3WJN", "[redacted]"),
        ("order 4111 1111 1111 1112", "order [redacted]"),
        ("the password is wrong", "the password is wrong"),
        ("I lost my password yesterday", "I lost my password yesterday"),
    ],
)
def test_secrets_are_redacted(text: str, shown: str) -> None:
    assert redacted_text(text) == shown


def test_no_draft_carries_a_secret() -> None:
    made = drafts_from(
        "My card number is 4111 1111 1111 1111.", "Remind me to rotate sk-proj-abcdefghijklmnop1234567890"
    )
    assert made
    for draft in made:
        everything = f"{draft.content} {draft.summary} {draft.keywords} {draft.queries} {draft.key}"
        assert "4111" not in everything
        assert "sk-proj" not in everything


HOSTILE = {
    "10,000 words": "i live in porto and my favourite day of may is never the last one , because . " * 700,
    "one long word": "a" * 60_000,
    "facts": "I live in Porto. " * 4000,
    "quotes": '"' * 50_000,
    "commas": ", " * 30_000,
    "uses": ("We use " + "x " * 60 + "for. ") * 400,
    "names": ("I moved from " + "Ab " * 120 + "\n") * 150,
    "dates": "I went there yesterday and last week and on 3 May and two weeks ago to eat. " * 300,
    "digits": "4 " * 30_000,
    "jobs": ("I am a " + "ab " * 120 + "\n") * 150,
    "keys": "password " * 8000,
    "sorry": ("sorry, no, " * 30 + "\n") * 150,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_messages_are_bounded(text: str) -> None:
    """Backtracking would not end within the time limit of a test."""
    drafts_from(text)


@pytest.mark.slow
def test_an_ordinary_message_is_cheap() -> None:
    messages = messages_from(*[text for text, _, _ in FACTS], *NOTHING)
    drafts(messages, [])
    began = time.process_time()
    drafts(messages, [])
    assert (time.process_time() - began) / len(messages) < 0.02  # below 0.001 on a quiet machine


def test_a_new_version_supersedes_and_another_tool_does_not() -> None:
    old, new = only("We use Postgres 15"), only("We upgraded to Postgres 17 last night")
    assert old.key == new.key == "uses-postgres"
    assert new.content == 'The user uses "Postgres 17".'
    assert only("We use Redis 7").key == "uses-redis"


def test_an_allergy_denied_supersedes_the_allergy() -> None:
    known, denied = only("I'm allergic to peanuts"), only("actually I'm not allergic to peanuts, it was almonds")
    assert known.key == denied.key == "allergy-peanuts"
    assert denied.content == "The user is not allergic to peanuts."


def test_nobody_but_the_author_is_quoted() -> None:
    made = drafts(messages_from("I live in Porto with my husband Tom and our dog Biscuit."), least=0.0)
    assert not [d for d in made if re.search(r"(?:dog|husband|Tom)\b.* said:", d.content)]


def test_what_is_pasted_or_given_to_be_rewritten_is_nobodys_fact() -> None:
    for text in (
        'translate to Italian: "My grandmother lives in Porto and has two cats."',
        "Write a sign for our kitchen: never leave dirty dishes, always refill the water filter",
        'Traceback (most recent call last):\nFile "/srv/app.py", line 88, in run\nKeyError: 42',
    ):
        assert drafts(messages_from(text)) == []


def test_a_long_dictated_sentence_is_read_in_breaths() -> None:
    ramble = "so um the bus was late and the shop was shut and it rained, " * 8
    assert any(
        "Hamburg" in d.content for d in drafts(messages_from(f"{ramble} and we moved to Hamburg in May, {ramble}"))
    )


def test_letters_that_only_look_like_others_are_read_without_a_stumble() -> None:
    """A pattern that ignores case takes İ and ı for an I; no table of words has them."""
    for text in ("9999 İ March ½ prefer ı İ my between", "Always tell İ the news", "I prefer ſtraight anſwers, ı said"):
        drafts(messages_from(text), [], least=0.0)
