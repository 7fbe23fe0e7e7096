"""The page of a ward: what it asks and shows, bad values, two patients at once, and what it refuses to strangers."""

import json
import re
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from flask.testing import FlaskClient
from sklearn.tree import DecisionTreeRegressor
from wards import clinic_model, ward_of

from ipforest import BudgetedPipeline, BudgetPrune, FeatureCosts
from ipforest.session import Unit
from ipforest.ward.page import HEADERS, _shown, create_app
from ipforest.ward.patients import Ward

TOKEN, PORT = "a-secret-of-this-run", 8123
HERE = f"http://127.0.0.1:{PORT}"
VALUES = {"pain": "strong", "age": "70", "crp": "60", "ldl": "150"}


@pytest.fixture(scope="module")
def model() -> BudgetedPipeline:
    return clinic_model()


@pytest.fixture(scope="module")
def late() -> BudgetedPipeline:
    return clinic_model(("crp", "ldl"))


class Page:
    """A browser without eyes."""

    def __init__(self, ward: Ward) -> None:
        self.ward = ward
        self.client: FlaskClient = create_app(ward, TOKEN, PORT).test_client()

    def get(self, place: str = "", **options: Any) -> Any:
        return self.client.get(f"/{TOKEN}/{place}", base_url=options.pop("base_url", HERE), **options)

    def post(self, place: str, data: dict[str, Any] | None = None, **options: Any) -> Any:
        return self.client.post(f"/{TOKEN}/{place}", base_url=HERE, data=data or {}, **options)

    def refused(self, answer: Any) -> Any:
        """Give the page of a refused form, which has an address: going back to it sends nothing again."""
        assert answer.status_code == 303
        shown = self.client.get(answer.location, base_url=HERE)
        assert shown.status_code == 422
        assert self.client.get(answer.location, base_url=HERE).status_code == 200
        return shown

    def admit(self, name: str = "Ada", **typed: str) -> int:
        answer = self.post("patients", {"name": name, **typed})
        assert answer.status_code == 303
        return int(answer.location.rsplit("/", 1)[1])

    def asked(self, number: int) -> dict[str, str]:
        """Give the names of the form's fields by what their labels say."""
        html = self.get(f"patients/{number}").text
        return {label: field for field, label in re.findall(r'<label for="(value-[^"]+)">([^<]+)</label>', html)}

    def enter(self, number: int, values: dict[str, str], state: str = "result") -> Any:
        asked = self.asked(number)
        typed = {field: values.get(label, "") for label, field in asked.items()}
        states = {f"state-{field.split('-')[1]}": state for field in asked.values()}
        return self.post(f"patients/{number}", typed | states)

    def undo(self, number: int) -> Any:
        return self.post(f"patients/{number}/undo", {"told": f"{len(self.ward.patients[number].session.ledger)}"})


@pytest.fixture(scope="module")
def shared(model: BudgetedPipeline) -> Page:
    return Page(ward_of(model))


@pytest.fixture
def page(shared: Page, model: BudgetedPipeline) -> Page:
    empty = ward_of(model)
    shared.ward.patients, shared.ward._admitted = empty.patients, empty._admitted
    return shared


def test_of_a_mixture_each_patient_is_asked_what_the_drawn_model_asks(model: BudgetedPipeline) -> None:
    mixed = model.mixture(3)
    page = Page(Ward(mixed, ward_of(model).columns))
    assert 'for="key"' in page.get().text
    refused = page.refused(page.post("patients", {"name": "Ada", "known": "age=70"}))
    assert "key: expected what tells the patient apart" in refused.text
    assert "age=70" in refused.text
    drawn = {key: mixed.gets_costly([key])[0] for key in map(str, range(12))}
    assert len({*drawn.values()}) == 2
    for key in drawn:
        number, session = page.admit(key, key=f" {key} "), mixed.session(key)
        while (unit := session.next_unit) is not None:
            assert [*page.asked(number)] == [unit.name]
            assert page.enter(number, VALUES).status_code == 303
            session.tell(VALUES[unit.name] if unit.name == "pain" else float(VALUES[unit.name]))
        told = page.ward.patients[number].session
        assert (told.answer, told.paid) == (session.answer, session.paid)
        file = BytesIO(told.to_json().encode()), "session.json"
        again = page.post("resume", {"saved_key": key, "saved": file}, content_type="multipart/form-data")
        assert page.ward.patients[int(again.location.rsplit("/", 1)[1])].session.answer == session.answer


def test_it_asks_until_it_answers_as_a_session_does(page: Page, model: BudgetedPipeline) -> None:
    number, asked = page.admit("Ada"), []
    while fields := page.asked(number):
        assert f"order {', '.join(fields)}" in page.get().text
        asked += fields
        assert page.enter(number, VALUES).status_code == 303
    session = page.ward.patients[number].session
    html = page.get(f"patients/{number}").text
    assert session.next_unit is None
    assert f"Answer: {session.answer}" in html
    assert f"Paid: {session.paid:.2f}" in html
    assert f"{100 * session.probabilities[session.answer]:.0f}%" in html
    assert "Nothing more is needed." in html
    assert f"answer: {session.answer}" in page.get().text
    assert [re.sub("&#39;", "'", row) for row in re.findall(r'<tr><th scope="row">([^<]+)</th><td>', html)][
        -len(asked) :
    ] == asked


def test_it_says_what_to_order_for_how_much_and_why(page: Page) -> None:
    number = page.admit()
    session = page.ward.patients[number].session
    while session.price == 0:
        page.enter(number, VALUES)
    html = page.get(f"patients/{number}").text
    assert f"costs {session.price:.2f}" in html
    assert "Why: " in html
    choices = re.findall(r'type="radio" name="state-\d+" value="(\w+)"( checked)?', html)
    assert choices == [("result", " checked"), ("absent", ""), ("missing", "")]
    assert session.reason in html.replace("&#39;", "'")


def test_what_was_typed_last_is_taken_back(page: Page) -> None:
    number = page.admit()
    page.enter(number, VALUES)
    before = page.ward.patients[number].session.to_json()
    page.enter(number, {**VALUES, "age": "30", "crp": "3", "ldl": "90", "pain": "none"})
    assert page.ward.patients[number].session.to_json() != before
    page.undo(number)
    assert page.ward.patients[number].session.to_json() == before
    assert "Taken back: " in page.get(f"patients/{number}").text
    for _ in range(2):
        page.undo(number)
    assert "There is nothing to take back." in page.get(f"patients/{number}").text
    assert page.ward.patients[number].session.ledger == ()


def test_forms_of_another_tab_or_sent_twice_change_nothing(page: Page) -> None:
    number = page.admit()
    shown = page.asked(number)
    for _ in range(2):
        page.enter(number, VALUES)
    before = page.ward.patients[number].session.to_json()
    page.post(f"patients/{number}", {field: VALUES[label] for label, field in shown.items()})
    assert "Nothing was changed" in page.get(f"patients/{number}").text
    assert page.ward.patients[number].session.to_json() == before
    for _ in range(2):
        page.post(f"patients/{number}/undo", {"told": "2"})
    assert len(page.ward.patients[number].session.ledger) == 1
    assert "Nothing was changed" in page.get(f"patients/{number}").text


@pytest.mark.parametrize("state", ["absent", "missing"])
def test_choices_of_another_tab_or_sent_twice_change_nothing(page: Page, state: str) -> None:
    number = page.admit()
    choice = {f"state-{field.split('-')[1]}": state for field in page.asked(number).values()}
    while page.asked(number):
        page.enter(number, VALUES)
        before = page.ward.patients[number].session.to_json()
        page.post(f"patients/{number}", choice)
        assert "Nothing was changed" in page.get(f"patients/{number}").text
        assert page.ward.patients[number].session.to_json() == before
    page.post(f"patients/{number}")
    assert "Nothing was changed" in page.get(f"patients/{number}").text


def test_what_could_not_be_had_is_not_charged_and_what_was_done_is(page: Page) -> None:
    number = page.admit()
    while page.ward.patients[number].session.price == 0:
        page.enter(number, VALUES)
    page.enter(number, {}, state="absent")
    line = page.ward.patients[number].session.ledger[-1]
    assert (line.charged, line.price) == (False, 0)
    assert "could not be had" in page.get(f"patients/{number}").text
    before = page.ward.patients[number].session.to_json()
    page.enter(number, VALUES)
    page.undo(number)
    assert page.ward.patients[number].session.to_json() == before


def test_done_without_a_result_is_charged(page: Page) -> None:
    number = page.admit()
    while page.ward.patients[number].session.price == 0:
        page.enter(number, VALUES)
    price = page.ward.patients[number].session.price
    page.enter(number, {}, state="missing")
    assert page.ward.patients[number].session.paid == pytest.approx(price)
    assert "no result" in page.get(f"patients/{number}").text


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("", "expected a value, or the choice that it could not be had, got neither"),
        ("lots", "expected a number, got &#39;lots&#39;"),
        ("3,5", "write 3.5, with a decimal point"),
        ("inf", "expected finite"),
        ("<script>", "got &#39;&lt;script&gt;&#39;"),
    ],
)
def test_bad_values_are_told_at_their_field(page: Page, typed: str, message: str) -> None:
    number = page.admit()
    while "pain" in page.asked(number):
        page.enter(number, VALUES)
    before = page.ward.patients[number].session.to_json()
    answer = page.refused(page.enter(number, dict.fromkeys(VALUES, typed)))
    assert message in answer.text
    assert 'aria-invalid="true"' in answer.text
    assert 'role="alert"' in answer.text
    assert "<title>Mistake: " in answer.text
    assert page.ward.patients[number].session.to_json() == before
    if typed == "lots":
        assert 'value="lots"' in answer.text


def test_a_word_that_training_has_not_seen_is_told(page: Page) -> None:
    number = page.admit()
    while "pain" not in page.asked(number):
        page.enter(number, VALUES)
    answer = page.refused(page.enter(number, {"pain": "terrible"}))
    assert "pain: expected one of mild, none, strong, or ? for none, got &#39;terrible&#39;" in answer.text


def test_two_patients_do_not_mix(page: Page) -> None:
    ada, bob = page.admit("Ada"), page.admit("Bob")
    page.enter(ada, VALUES)
    assert page.ward.patients[bob].session.ledger == ()
    page.enter(bob, {"pain": "none", "age": "20", "crp": "1", "ldl": "80"})
    told = [page.ward.patients[number].session.ledger[0].values for number in (ada, bob)]
    assert told[0] != told[1]
    html = page.get(f"patients/{bob}").text
    assert "<h1>Bob</h1>" in html
    assert 'aria-current="page">Bob</a>' in html
    assert "Ada</a>" in html
    page.post(f"patients/{ada}/discharge")
    assert "Ada" not in page.get(f"patients/{bob}").text
    assert page.get(f"patients/{ada}").status_code == 404


def test_a_round_is_ordered_together_and_its_results_come_one_by_one(late: BudgetedPipeline) -> None:
    page = Page(ward_of(late))
    number = page.admit()
    session = page.ward.patients[number].session
    while len(session.round()) == 1:
        page.enter(number, VALUES)
    first, second = [*page.asked(number)]
    html = page.get(f"patients/{number}").text
    assert "Round 1: order these together" in html
    assert session.round_price == pytest.approx(sum(map(session.price_of, session.round())) - 2.1)
    assert f"Together {session.round_price:.2f}, as what they share is paid once." in html
    assert "Enter results" in html
    page.enter(number, {first: VALUES[first]})
    assert [*page.asked(number)] == [second]
    assert f'{first} <span class="round">round 1</span>' in page.get(f"patients/{number}").text
    page.refused(page.enter(number, {second: "x"}))
    page.undo(number)
    assert [*page.asked(number)] == [first, second]
    page.enter(number, VALUES)
    assert page.ward.patients[number].session.round() == ()


def test_after_the_last_round_that_is_allowed_it_answers(late: BudgetedPipeline) -> None:
    page = Page(ward_of(late, max_rounds=0))
    number = page.admit()
    while page.asked(number):
        page.enter(number, VALUES)
    assert not {"crp", "ldl"} & {name for line in page.ward.patients[number].session.ledger for name, _ in line.values}


def test_nothing_of_a_round_is_taken_where_one_value_is_bad(late: BudgetedPipeline) -> None:
    page = Page(ward_of(late))
    number = page.admit()
    while len(page.ward.patients[number].session.round()) == 1:
        page.enter(number, VALUES)
    before = page.ward.patients[number].session.to_json()
    first, second = [*page.asked(number)]
    page.refused(page.enter(number, {first: "50", second: "1e999"}))
    assert page.ward.patients[number].session.to_json() == before


def test_a_session_is_saved_and_goes_on(page: Page) -> None:
    number = page.admit("Ada Lovelace")
    page.enter(number, VALUES)
    saved = page.get(f"patients/{number}/ipforest-session.json")
    assert "Lovelace" not in saved.text
    assert saved.headers["Content-Disposition"] == "attachment; filename=ipforest-session.json"
    file = {"saved_name": "Ada", "saved": (BytesIO(saved.data), "session.json")}
    again = page.post("resume", file, content_type="multipart/form-data")
    other = int(again.location.rsplit("/", 1)[1])
    assert page.ward.patients[other].session.to_json() == page.ward.patients[number].session.to_json()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no json", "saved: expected what Session.to_json wrote"),
        (b"\xff\xfe", "can&#39;t decode"),
        (json.dumps({"known": [], "max_cost": None, "bought": [["x", [1]]]}).encode(), "saved: expected a session of"),
        (None, "saved session: expected a file, got none"),
    ],
)
def test_a_file_that_is_no_session_is_told(page: Page, content: bytes | None, message: str) -> None:
    file = {} if content is None else {"saved": (BytesIO(content), "session.json")}
    answer = page.refused(page.post("resume", file, content_type="multipart/form-data"))
    assert message in answer.text
    assert page.ward.patients == {}


def test_what_is_known_is_free_and_a_limit_is_kept(page: Page) -> None:
    number = page.admit(known="age=70\r\n\r\npain=strong", max_cost="6.5")
    page_session = page.ward.patients[number].session
    while page_session.round():
        page.enter(number, VALUES)
    assert page_session.paid <= 6.5
    assert not {"age", "pain"} & {name for line in page_session.ledger for name, _ in line.values}
    for typed, message in (
        ({"known": "height=3"}, "expected NAME=VALUE with one of pain"),
        ({"max_cost": "-1"}, "max_cost"),
        ({"max_cost": "30,5"}, "write 30.5, with a decimal point"),
    ):
        answer = page.refused(page.post("patients", {"name": "Eve", **typed}))
        assert message in answer.text
        assert 'value="Eve"' in answer.text


def test_what_is_typed_is_read_as_cells(model: BudgetedPipeline) -> None:
    columns, both = ward_of(model).columns, Unit(0, "both", (1, 0))
    assert columns.name(both) == "age, pain"
    for line, texts in {
        '40, "strong"': ["40", "strong"],
        "4 o'clock": ["4", "o'clock"],
        "?": ["?", "?"],
        "NA": ["NA", "NA"],
    }.items():
        assert columns.parted(both, line) == texts
    assert columns.parted(Unit(1, "age", (1,)), "4 0") == ["4 0"]
    with pytest.raises(ValueError, match=r"^age, pain: expected 2 values with blanks between them, .* got 3"):
        columns.parted(both, "1 2 3")
    assert columns.answer(both, ["40", "strong"]) == ({1: 40, 0: "strong"}, True)
    assert columns.answer(both, ["?", ""]) == ({1: None, 0: None}, False)
    cells, is_charged = columns.answer(both, ["NA", "?"])
    assert (str(cells[1]), cells[0], is_charged) == ("nan", None, True)
    assert columns.known(["age=40", "pain=mild"]) == {1: 40, 0: "mild"}
    for pairs, message in ((["age"], "got 'age'"), (["a=3"], "got 'a=3'"), (["age=1", "age=2"], "one value of age")):
        with pytest.raises(ValueError, match=f"^--known: expected .*{message}"):
            columns.known(pairs)


def test_large_numbers_are_written_without_a_power_of_ten() -> None:
    assert [_shown(value) for value in (2116398.4, 0.5, 40.123456, "yes", 7)] == [
        "2116398",
        "0.5",
        "40.1235",
        "yes",
        "7",
    ]


def test_names_are_text(page: Page) -> None:
    number = page.admit('<img src=x onerror="1">')
    assert "<img" not in page.get(f"patients/{number}").text
    assert page.ward.patients[page.admit("   ")].name == "Patient 2"
    assert len(page.ward.patients[page.admit("x" * 500)].name) == 80


def test_every_answer_forbids_what_a_page_does_not_need(page: Page) -> None:
    for answer in (
        page.get(),
        page.get("style.css"),
        page.get("nothing"),
        page.get("patients/9"),
        page.client.get("/"),
    ):
        assert all(answer.headers[name] == value for name, value in HEADERS.items())
    policy = HEADERS["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script" not in policy
    assert "unsafe" not in policy
    number = page.admit()
    for html in (page.get().text, page.get(f"patients/{number}").text):
        assert "<script" not in html
        assert "style=" not in html
        assert "http" not in html.replace("http-equiv", "")


@pytest.mark.parametrize("place", ["", "wrong-token/", f"{TOKEN}x/", "favicon.ico"])
def test_without_the_token_there_is_nothing(page: Page, place: str) -> None:
    answer = page.client.get(f"/{place}", base_url=HERE)
    assert answer.status_code == 403
    assert "expected the address that the terminal printed" in answer.text
    assert TOKEN not in answer.text


@pytest.mark.parametrize(
    "host", ["evil.example:8123", "127.0.0.1", "127.0.0.1:8124", "127.0.0.1.evil.example:8123", "[::1]:8123"]
)
def test_another_host_is_refused(page: Page, host: str) -> None:
    answer = page.get(headers={"Host": host})
    assert answer.status_code == 403
    assert "Host: expected 127.0.0.1:8123" in answer.text


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:8124"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": HERE, "Sec-Fetch-Site": "cross-site"},
    ],
)
def test_forms_of_other_pages_are_refused(page: Page, headers: dict[str, str]) -> None:
    assert page.post("patients", {"name": "Eve"}, headers=headers).status_code == 403
    assert page.ward.patients == {}


def test_forms_of_this_page_are_taken(page: Page) -> None:
    for headers in ({"Origin": HERE, "Sec-Fetch-Site": "same-origin"}, {"Origin": f"http://localhost:{PORT}"}, {}):
        assert page.post("patients", {"name": "Ada"}, headers=headers).status_code == 303


def test_what_changes_something_is_no_link(page: Page) -> None:
    number = page.admit()
    for place in (f"patients/{number}/undo", f"patients/{number}/discharge", "resume"):
        assert page.get(place).status_code == 405
    assert number in page.ward.patients


def test_a_body_that_is_too_large_is_refused(page: Page) -> None:
    assert page.post("patients", {"known": "x" * (2 << 20)}).status_code == 413


def test_columns_without_names_that_come_together_have_a_field_each() -> None:
    X = np.random.default_rng(0).integers(0, 9, (120, 3)).astype(float)
    sensor = FeatureCosts([0, 0, 2], groups=[0, 0, -1], group_fees=[10])
    tree = DecisionTreeRegressor(max_depth=3, random_state=0)
    model = BudgetPrune(tree, feature_costs=sensor, random_state=0).fit(X, X[:, 0] * X[:, 1])
    page = Page(ward_of(model))
    number = page.admit()
    assert [*page.asked(number)] == ["feature 0", "feature 1"]
    page.refused(page.enter(number, {"feature 0": "3", "feature 1": "many"}))
    assert page.enter(number, {"feature 0": "3", "feature 1": "4"}).status_code == 303
    session = page.ward.patients[number].session
    assert session.paid == 10
    while page.asked(number):
        page.enter(number, {"feature 2": "5"})
    html = page.get(f"patients/{number}").text
    assert f"Answer: {session.answer:.6g}" in html
    assert "Probability" not in html
