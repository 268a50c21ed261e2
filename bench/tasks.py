"""Short tasks for a small model, ten in each of six languages, and candidates for the first screen's example question.

Each task needs one tool, which returns a value that nobody could guess: whether the answer carries it can be seen
without a judge.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lookup:
    """A tool of one text parameter: its name, that parameter, what it is for, and the phrase it returns a value in."""

    name: str
    parameter: str
    description: str
    says: str


@dataclass(frozen=True, slots=True)
class Task:
    lang: str
    tool: Lookup
    question: str
    value: str


LOOKUPS = (
    Lookup("get_temperature", "city", "Get the temperature in a city.", "{} degrees"),
    Lookup("get_price", "item", "Get the price of an item.", "{} euros"),
    Lookup("get_stock", "item", "Get how many pieces of an item are in stock.", "{} pieces"),
    Lookup("get_population", "city", "Get the population of a city.", "{} people"),
    Lookup("get_phone_number", "person", "Get the phone number of a person.", "{}"),
    Lookup("get_bus_number", "place", "Get the number of the bus to a place.", "bus {}"),
    Lookup("get_room", "person", "Get the room number of a person.", "room {}"),
    Lookup("get_distance", "place", "Get the distance to a place.", "{} kilometres"),
    Lookup("get_door_code", "building", "Get the door code of a building.", "{}"),
    Lookup("get_pages", "book", "Get the number of pages of a book.", "{} pages"),
)

QUESTIONS: dict[str, tuple[str, ...]] = {
    "en": (
        "What is the temperature in Oslo?",
        "What does a blue lamp cost?",
        "How many green chairs are in stock?",
        "How many people live in Lima?",
        "What is Anna's phone number?",
        "Which bus goes to the harbour?",
        "In which room is Mr Brown?",
        "How far is it to the castle?",
        "What is the door code of the library?",
        "How many pages does Moby Dick have?",
    ),
    "de": (
        "Welche Temperatur hat es in Oslo?",
        "Was kostet eine blaue Lampe?",
        "Wie viele grüne Stühle sind auf Lager?",
        "Wie viele Menschen leben in Lima?",
        "Wie lautet Annas Telefonnummer?",
        "Welcher Bus fährt zum Hafen?",
        "In welchem Zimmer ist Herr Braun?",
        "Wie weit ist es bis zum Schloss?",
        "Wie lautet der Türcode der Bibliothek?",
        "Wie viele Seiten hat Moby Dick?",
    ),
    "fr": (
        "Quelle est la température à Oslo ?",
        "Combien coûte une lampe bleue ?",
        "Combien de chaises vertes sont en stock ?",
        "Combien de personnes vivent à Lima ?",
        "Quel est le numéro de téléphone d'Anna ?",
        "Quel bus va au port ?",
        "Dans quelle salle est M. Brun ?",
        "À quelle distance est le château ?",
        "Quel est le code de la porte de la bibliothèque ?",
        "Combien de pages compte Moby Dick ?",
    ),
    "es": (
        "¿Qué temperatura hace en Oslo?",
        "¿Cuánto cuesta una lámpara azul?",
        "¿Cuántas sillas verdes hay en existencia?",
        "¿Cuántas personas viven en Lima?",
        "¿Cuál es el número de teléfono de Ana?",
        "¿Qué autobús va al puerto?",
        "¿En qué sala está el señor Moreno?",
        "¿A qué distancia está el castillo?",
        "¿Cuál es el código de la puerta de la biblioteca?",
        "¿Cuántas páginas tiene Moby Dick?",
    ),
    "ja": (
        "オスロの気温は何度ですか。",
        "青いランプの値段はいくらですか。",
        "緑の椅子の在庫はいくつありますか。",
        "リマの人口は何人ですか。",
        "アンナさんの電話番号は何番ですか。",
        "港へ行くバスは何番ですか。",
        "田中さんの部屋は何号室ですか。",
        "城までの距離はどれくらいですか。",
        "図書館のドアの暗証番号は何ですか。",
        "『白鯨』は何ページありますか。",
    ),
    "ar": (
        "كم درجة الحرارة في أوسلو؟",
        "كم سعر المصباح الأزرق؟",
        "كم عدد الكراسي الخضراء في المخزن؟",
        "كم عدد سكان ليما؟",
        "ما هو رقم هاتف آنا؟",
        "ما هو رقم الحافلة التي تذهب إلى الميناء؟",
        "في أي غرفة يوجد السيد سالم؟",
        "كم تبعد القلعة؟",
        "ما هو رمز باب المكتبة؟",
        "كم صفحة في كتاب موبي ديك؟",
    ),
}


def tasks() -> tuple[Task, ...]:
    """All of them, each with a value of its own."""
    found: list[Task] = []
    for lang, questions in QUESTIONS.items():
        for tool, question in zip(LOOKUPS, questions, strict=True):
            found.append(Task(lang, tool, question, str(4013 + 97 * len(found))))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A question for the first screen, and what its answer must hold: the time in `zone` as HH:MM, its weekday, its
    date, or a fixed text."""

    question: str
    holds: str
    zone: str = "UTC"


CANDIDATES = (
    Candidate("What time is it in Paris?", "time", "Europe/Paris"),
    Candidate("What time is it in Tokyo?", "time", "Asia/Tokyo"),
    Candidate("What time is it in New York?", "time", "America/New_York"),
    Candidate("What time is it in London?", "time", "Europe/London"),
    Candidate("What is the time in Cairo?", "time", "Africa/Cairo"),
    Candidate("What time is it?", "time", "here"),
    Candidate("What time is it now?", "time", "here"),
    Candidate("What day is it today?", "weekday", "here"),
    Candidate("What is the date today?", "date", "here"),
    Candidate("Which day is it in Tokyo?", "weekday", "Asia/Tokyo"),
    Candidate("List the files here.", "notes.txt"),
    Candidate("Wie spät ist es in Berlin?", "time", "Europe/Berlin"),
)
