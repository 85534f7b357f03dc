"""English first, but nothing breaks on other languages: what was said is found by its words in any script."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast import Holdfast

SAID = {
    "de": ("Meine Schwester züchtet Schafe in der Lüneburger Heide.", "Schafe Lüneburg"),
    "fr": ("J'ai acheté un vélo électrique à Besançon.", "vélo electrique"),
    "es": ("Mi cumpleaños es el doce de enero.", "cumpleaños enero"),
    "pt": ("O meu cão chama-se Trovão.", "como se chama o cão?"),
    "pl": ("Mieszkam w Łodzi od dwóch lat.", "Łodzi"),
    "tr": ("İstanbul'da küçük bir kafe açtım.", "istanbul kafe"),
    "ru": ("Я работаю врачом в Казани.", "врач Казань"),
    "el": ("Η αδερφή μου μένει στη Θεσσαλονίκη.", "Θεσσαλονίκη"),
    "ar": ("أعمل مهندسا في القاهرة.", "القاهرة"),
    "he": ("אני גר בחיפה עם שני חתולים.", "בחיפה"),
    "hi": ("मेरा भाई जयपुर में रहता है।", "जयपुर"),
    "zh": ("我下个月要搬到成都工作。", "成都"),
    "ja": ("来週から京都の図書館で働きます。", "京都の図書館"),
    "ko": ("저는 부산에서 커피숍을 운영합니다.", "부산 커피숍"),
    "th": ("ฉันเลี้ยงแมวสองตัวที่เชียงใหม่", "เชียงใหม่"),
    "vi": ("Tôi đang học đàn bầu ở Huế.", "đàn bầu Huế"),
}


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Holdfast]:
    with Holdfast.open(tmp_path_factory.mktemp("data")) as memory:
        profile = memory.profile("app", "polyglot")
        for language, (text, _) in SAID.items():
            profile.ingest([{"role": "user", "content": text}], session_id=language)
        profile.settle()
        yield memory


@pytest.mark.parametrize("language", SAID)
def test_a_sentence_is_found_first_by_its_words(memory: Holdfast, language: str) -> None:
    text, question = SAID[language]
    assert text.rstrip(".。।") in memory.profile("app", "polyglot").search(question, limit=1)[0].content


@pytest.mark.parametrize("language", SAID)
def test_a_message_is_kept_word_for_word_and_its_memories_quote_it(memory: Holdfast, language: str) -> None:
    text, _ = SAID[language]
    profile = memory.profile("app", "polyglot")
    (message,) = profile.messages(language)
    assert message.content == text
    for drawn in profile.list(filter={"sources": message.id}):
        assert text.rstrip(".。।") in drawn.content


def test_names_and_keys_in_any_script_come_back_as_given(tmp_path: Path) -> None:
    with Holdfast.open(tmp_path, embedder="potion") as memory:
        profile = memory.profile("app", "田中 さん ✓")
        profile.remember("緑茶が好き", kind="preference", key="飲み物")
        assert profile.list(key="飲み物")[0].content == "緑茶が好き"
        assert [p.name for p in memory.profiles("app")] == ["田中 さん ✓"]
