"""Relationships between people: relatives, partners, colleagues, friends, pets."""

from __future__ import annotations

from holdfast.text.lexicon import word_list

PETS = word_list("dog cat puppy kitten parrot rabbit horse hamster")
COLLEAGUES = word_list("colleague coworker co-worker")
FLATMATES = word_list("roommate flatmate housemate")
NEIGHBOURS = word_list("neighbour neighbor")
FAMILY_IN_LAW = word_list("mother father sister brother son daughter")
"""The relatives that also exist by marriage: "mother-in-law"."""
SPOUSES = word_list("wife husband spouse")
UNMARRIED_PARTNERS = word_list("girlfriend boyfriend partner fiancé fiancée fiance fiancee")
PARTNERS = frozenset((*SPOUSES, *UNMARRIED_PARTNERS))

_ROLES_BY_RELATION: tuple[tuple[str, list[str]], ...] = (
    ("sibling-of", word_list("sister brother sibling twin stepsister stepbrother half-sister half-brother")),
    ("married-to", SPOUSES),
    ("partner-of", UNMARRIED_PARTNERS),
    ("child-of", word_list("mother father mom mum mama dad papa parent stepmother stepfather")),
    ("parent-of", word_list("son daughter kid child baby stepson stepdaughter")),
    ("reports-to", word_list("boss manager supervisor")),
    ("works-with", [*COLLEAGUES, "teammate"]),
    ("friend-of", word_list("friend buddy")),
    ("lives-with", FLATMATES),
    ("neighbour-of", NEIGHBOURS),
    ("relative-of", word_list("aunt uncle cousin niece nephew grandmother grandfather grandma grandpa granny godson")),
    ("relative-of", [f"{each}-in-law" for each in FAMILY_IN_LAW]),
    ("has-pet", [*PETS, "pet"]),
    ("client-of", word_list("doctor dentist therapist teacher tutor coach trainer mentor landlord lawyer accountant")),
)
ROLES: dict[str, str] = {role: relation for relation, roles in _ROLES_BY_RELATION for role in roles}
"""Role → the relation that its owner has to the person in the role: the owner of a "mother" is `child-of` her."""

RELATIONS = (
    frozenset(ROLES)
    - frozenset(word_list("sibling parent stepsister stepbrother half-sister half-brother supervisor teammate buddy"))
) | {"ex", "client", "assistant", "goddaughter"}
"""Roles that the extraction rules recognise in a sentence: "my boss", "our dog"."""
RELATIONS_TO_SEVERAL = frozenset(
    word_list(
        "sister brother son daughter kid child aunt uncle cousin niece nephew friend teacher tutor coach trainer "
        "client ex sister-in-law brother-in-law stepson stepdaughter pet godson goddaughter"
    )
) | {*COLLEAGUES, *FLATMATES, *NEIGHBOURS, *PETS}
"""Relations that one person may well have several of."""

MALE_ROLES = frozenset(
    word_list("brother husband boyfriend fiancé fiance father dad papa son uncle nephew grandfather")
)
FEMALE_ROLES = frozenset(
    word_list("sister wife girlfriend fiancée fiancee mother mom mum mama daughter aunt niece grandmother grandma")
)
"""Roles of men, and roles of women."""

FORMS_OF_ADDRESS = word_list("mom mum mama dad papa grandma grandpa granny")
"""Relations that are used without "my", like a name."""
OTHER_PEOPLE = (
    "sister|brother|mum|mom|mother|dad|father|friend|colleague|neighbou?r|boss|wife|husband|partner|cousin|aunt|uncle|"
    "son|daughter|flatmate|roommate"
)
"""Alternatives for a pattern: the people that a statement is most often about, if not about its author."""
SEVERAL_OF_ONE = "friend|brother|sister|son|daughter|kid|child|cousin|colleague|neighbou?r|uncle|aunt|cat|dog"
"""Alternatives for a pattern: those of `RELATIONS_TO_SEVERAL` that are often mentioned without a name."""
