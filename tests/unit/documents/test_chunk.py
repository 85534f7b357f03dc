"""Chunks: nothing lost, nothing said twice, nothing too long, each where it came from."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.documents.chunk import MAX_CHUNK_CHARS, TARGET_CHUNK_CHARS, Chunk, Chunker, chunk_sections
from holdfast.documents.types import SECTION_KINDS, Section
from support.example_counts import example_count

LETTERS = st.text(st.characters(exclude_categories=("Cs",)), max_size=200)
WORDS = st.lists(
    st.sampled_from(["word", "Ends here.", "\n", "\n\n", " ", "|", "a,b", "    ", "größe。", "x" * 50, "\t"])
)
LONG = st.builds(lambda words, times: " ".join(words) * times, WORDS, st.integers(1, 60))
SECTIONS = st.lists(
    st.builds(
        Section,
        text=LETTERS | LONG | st.integers(1, 9_000).map("y".__mul__),
        heading=st.sampled_from([(), ("One",), ("One", "Two")]),
        page=st.sampled_from([None, 1, 2]),
        kind=st.sampled_from(SECTION_KINDS),
        above=st.sampled_from(["", "name | price"]),
    ),
    max_size=12,
)


def bare(text: str) -> str:
    return "".join(text.split())


@settings(max_examples=example_count(400), deadline=None)
@given(SECTIONS)
def test_every_character_is_in_one_chunk_and_in_order(sections: list[Section]) -> None:
    chunks = list(chunk_sections(sections))
    assert bare("".join(chunk.text for chunk in chunks)) == bare("".join(section.text for section in sections))
    assert all(0 < len(chunk.text) <= MAX_CHUNK_CHARS for chunk in chunks)
    assert all(chunk.text.strip() for chunk in chunks)


@settings(max_examples=example_count(200), deadline=None)
@given(SECTIONS)
def test_a_chunk_knows_page_heading_and_kind_of_all_its_text(sections: list[Section]) -> None:
    def by_place(parts: list[Section] | list[Chunk]) -> dict[object, str]:
        held: dict[object, str] = {}
        for part in parts:
            place = (part.page, part.heading, part.kind)
            held[place] = held.get(place, "") + bare(part.text)
        return {place: text for place, text in held.items() if text}

    assert by_place(list(chunk_sections(sections))) == by_place(sections)


def test_paragraphs_share_a_chunk_and_long_text_is_cut_between_sentences() -> None:
    sentence = "The ferry leaves at dawn and comes back late in the evening. "
    short = list(chunk_sections([Section("One."), Section("Two."), Section("Three.")]))
    assert [chunk.text for chunk in short] == ["One.\n\nTwo.\n\nThree."]
    long = list(chunk_sections([Section(sentence * 100)]))
    assert all(chunk.text.endswith("evening.") for chunk in long)
    assert all(TARGET_CHUNK_CHARS // 2 <= len(chunk.text) <= TARGET_CHUNK_CHARS + 200 for chunk in long[:-1])


def test_a_page_never_shares_a_chunk_with_another() -> None:
    pages = [Section(f"Fact number {page}.", (), page) for page in range(1, 50)]
    assert [(chunk.page, chunk.text) for chunk in chunk_sections(pages)] == [(s.page, s.text) for s in pages]


def test_tables_and_code_stay_whole_where_they_fit() -> None:
    table = "name | price\n" + "\n".join(f"part {n} | {n}" for n in range(150))
    code = "def f():\n" + "    x = 1\n" * 300
    assert [chunk.text for chunk in chunk_sections([Section(table, kind="table")])] == [table]
    assert [chunk.text for chunk in chunk_sections([Section(code, kind="code")])] == [code.strip()]


def test_a_table_that_does_not_fit_is_cut_between_rows_and_keeps_its_header_in_sight() -> None:
    rows = [f"part {n} | {n * 3} euros" for n in range(1_000)]
    chunks = list(chunk_sections([Section("\n".join(["name | price", *rows]), ("Parts",), kind="table")]))
    assert len(chunks) > 3
    assert all(line in rows for chunk in chunks[1:] for line in chunk.text.split("\n"))
    assert [chunk.above for chunk in chunks] == ["", *["name | price"] * (len(chunks) - 1)]
    assert chunks[1].whole.startswith("Parts\nname | price\npart ")


def test_code_keeps_its_indentation() -> None:
    code = "class A:\n" + "".join(f"    def m{n}(self):\n        return {n}\n\n" for n in range(300))
    chunks = list(chunk_sections([Section(code, kind="code")]))
    assert len(chunks) > 1
    assert "\n".join(line for chunk in chunks for line in chunk.text.split("\n") if line.strip()) == "\n".join(
        line for line in code.split("\n") if line.strip()
    )


def test_a_heading_is_not_said_twice() -> None:
    (chunk,) = chunk_sections([Section("Tides\nThe tide is high.", ("Coast", "Tides"))])
    assert chunk.whole == "Tides\nThe tide is high."
    (chunk,) = chunk_sections([Section("The tide is high.", ("Coast", "Tides"))])
    assert chunk.whole == "Coast › Tides\nThe tide is high."


def test_a_heading_alone_goes_with_what_is_under_it() -> None:
    (chunk,) = chunk_sections([Section("# Coast", ("Coast",)), Section("## Tides\n\nHigh.", ("Coast", "Tides"))])
    assert (chunk.text, chunk.heading) == ("# Coast\n\n## Tides\n\nHigh.", ("Coast", "Tides"))
    apart = [Section("# Coast", ("Coast",)), Section("# Hills\n\nGreen.", ("Hills",))]
    assert len(list(chunk_sections(apart))) == 2


def test_an_endless_document_is_never_held() -> None:
    chunker, given_out = Chunker(), 0
    for _ in range(2_000):
        given_out += sum(len(chunk.text) for chunk in chunker.add(Section("Some words of it. " * 100)))
        assert chunker.size <= 2 * MAX_CHUNK_CHARS
    assert given_out > 2_000 * 1_700
