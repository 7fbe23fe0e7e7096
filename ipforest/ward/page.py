"""The page itself: forms written by the server, without a script; what is answered, and what a browser may load."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from ipforest._internal.arrays import one_line
from ipforest._internal.words import plain
from ipforest.session import Purchase
from ipforest.ward.patients import ABSENT, MISSING_RESULT, RESULT, Patient, Refused, Ward

if TYPE_CHECKING:
    from flask import Flask, Response

HERE = "127.0.0.1"
MAX_BODY_BYTES = 1 << 20
SAVED_AS = "ipforest-session.json"

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def serve(ward: Ward, port: int, announce: Callable[[str], None]) -> None:
    """Serve the page to this machine until the program is interrupted.

    Parameters
    ----------
    ward : Ward
    port : int
        0 for any that is free.
    announce : callable (address)
        Tells the user the address, which holds the token.

    Raises
    ------
    ImportError
        The extra ``web`` is not installed.
    ValueError
        The port is taken, or not to be had.
    """
    waitress = _waitress()
    listening = _listening(port)
    with listening:
        token, at = secrets.token_urlsafe(24), listening.getsockname()[1]
        app = create_app(ward, token, at)
        server = waitress.create_server(app, sockets=[listening], ident=None, max_request_body_size=MAX_BODY_BYTES)
        announce(f"http://{HERE}:{at}/{token}/")
        try:
            server.run()
        finally:
            server.close()


def _waitress() -> Any:
    try:
        import flask  # noqa: F401  # both are needed, and either may be absent
        import waitress
    except ImportError as problem:
        raise ImportError(
            f"{problem.name}: expected it to be installed for the page, got none; run pip install flask waitress"
        ) from None
    return waitress


def _listening(port: int) -> socket.socket:
    if not 0 <= port < 1 << 16:
        raise ValueError(f"--port: expected a number 0..65535, got {port}")
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.bind((HERE, port))
        listening.listen()
    except OSError as problem:
        listening.close()
        raise ValueError(
            f"--port: expected a port that is free, got {port} ({problem.strerror}); give another, or 0 for any"
        ) from None
    return listening


def create_app(ward: Ward, token: str, port: int) -> Flask:
    """Make the page of a ward.

    Every address begins with a token that only this program and its user know, so no other page can name one. The
    header ``Host`` must be this machine, whatever a name on the network resolves to, and forms come from this page.

    Parameters
    ----------
    ward : Ward
    token : str
    port : int
        Where it is served.
    """
    from flask import Flask

    app = Flask(__name__, static_folder=None)
    app.config.update(MAX_CONTENT_LENGTH=MAX_BODY_BYTES, MAX_FORM_MEMORY_SIZE=MAX_BODY_BYTES)
    app.jinja_env.globals.update(RESULT=RESULT, ABSENT=ABSENT, MISSING_RESULT=MISSING_RESULT)
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    _guard(app, token, port)
    _Pages(app, ward, f"/{token}")
    return app


def _guard(app: Flask, token: str, port: int) -> None:
    """Refuse what does not come from this page, and say what a browser may do with it."""
    from flask import abort, request
    from werkzeug.exceptions import HTTPException

    hosts = {f"{name}:{port}" for name in (HERE, "localhost")}

    @app.before_request
    def refuse_others() -> None:
        if request.host not in hosts:
            abort(403, f"Host: expected {HERE}:{port}, got another")
        given = request.path.split("/")[1]
        if not secrets.compare_digest(given.encode(), token.encode()):
            abort(403, "expected the address that the terminal printed, with its token, got another")
        site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
        from_here = origin is None or origin in {f"http://{host}" for host in hosts}
        if request.method != "GET" and (site not in (None, "same-origin") or not from_here):
            abort(403, "Origin: expected a form of this page, got one of another")

    @app.after_request
    def add_headers(response: Response) -> Response:
        response.headers.update(HEADERS)
        return response

    @app.errorhandler(HTTPException)
    def tell(problem: HTTPException) -> tuple[str, int, dict[str, str]]:
        text = f"{problem.code} {problem.name}: {problem.description}\n"
        return text, problem.code or 500, {"Content-Type": "text/plain; charset=utf-8"}


class _Pages:
    """What is shown at which address."""

    def __init__(self, app: Flask, ward: Ward, root: str) -> None:
        self._ward, self._root, self._lock = ward, root, Lock()
        self._refused: tuple[str, dict[str, str]] = "", {}
        one = f"{root}/patients/<int:number>"
        routes: tuple[tuple[str, str, Callable[..., Any]], ...] = (
            ("GET", f"{root}/", self._list),
            ("GET", f"{root}/style.css", self._style),
            ("POST", f"{root}/patients", self._admit),
            ("POST", f"{root}/resume", self._readmit),
            ("GET", one, self._show),
            ("POST", one, self._tell),
            ("POST", f"{one}/undo", self._undo),
            ("POST", f"{one}/discharge", self._discharge),
            ("GET", f"{one}/{SAVED_AS}", self._save),
        )
        for method, rule, view in routes:
            app.add_url_rule(rule, view.__name__, self._locked(view), methods=[method])

    def _locked(self, view: Callable[..., Any]) -> Callable[..., Any]:
        def locked(**values: Any) -> Any:
            with self._lock:
                return view(**values)

        return locked

    def _patient(self, number: int) -> Patient:
        from flask import abort

        if number not in self._ward.patients:
            abort(404, f"expected a patient of this page, got number {number}, which is none or was discharged")
        return self._ward.patients[number]

    def _render(self, template: str, status: int = 200, **values: Any) -> tuple[str, int]:
        from flask import render_template

        patients = [*self._ward.patients.values()]
        shown = {"root": self._root, "patients": patients, "page": self, "ward": self._ward}
        return render_template(template, columns=self._ward.columns, **shown, **values), status

    def _to(self, patient: Patient | None = None) -> Response:
        from flask import redirect

        place = f"{self._root}/" if patient is None else f"{self._root}/patients/{patient.number}"
        return redirect(place, 303)  # type: ignore[return-value]  # werkzeug's is the base of flask's

    def _style(self) -> tuple[str, dict[str, str]]:
        from flask import render_template

        return render_template("style.css"), {"Content-Type": "text/css; charset=utf-8"}

    def _list(self) -> Any:
        (problem, typed), self._refused = self._refused, ("", {})
        return self._render("ward.html", 422 if problem else 200, problem=problem, typed=typed)

    def _to_refused(self, problem: Exception, typed: dict[str, str]) -> Response:
        """Show a form once more, at the address of the list, to which a browser goes back without sending it again."""
        self._refused = one_line(problem), typed
        return self._to()

    def _admit(self) -> Any:
        from flask import request

        typed = {name: request.form.get(name, "") for name in ("name", "known", "max_cost", "key")}
        try:
            return self._to(self._ward.admit(**typed))
        except (OverflowError, TypeError, ValueError) as problem:
            return self._to_refused(problem, typed)

    def _readmit(self) -> Any:
        from flask import request

        typed = {name: request.form.get(name, "") for name in ("saved_name", "saved_key")}
        file = request.files.get("saved")
        try:
            if file is None or not file.filename:
                raise ValueError("saved session: expected a file, got none")
            return self._to(self._ward.readmit(typed["saved_name"], file.read().decode("utf-8"), typed["saved_key"]))
        except ValueError as problem:
            return self._to_refused(problem, typed)

    def _show(self, number: int) -> Any:
        patient = self._patient(number)
        note, patient.note = patient.note, ""
        (problems, told), patient.refused = patient.refused, ({}, {})
        status = 422 if problems else 200
        return self._render("patient.html", status, patient=patient, note=note, problems=problems, typed=told)

    def _tell(self, number: int) -> Any:
        from flask import request

        patient = self._patient(number)
        fields = {
            unit.index: [f"value-{unit.index}-{at}" for at, _ in enumerate(unit.features)] for unit in patient.orders
        }
        asked = {f"state-{unit}" for unit in fields}.union(*fields.values())
        blank = {"value": "", "state": RESULT}
        stray = (name for name, text in request.form.items() if text != blank.get(name.partition("-")[0], text))
        if not fields or not asked.issuperset(stray):
            return self._too_late(patient)
        told = {
            unit: (request.form.get(f"state-{unit}", RESULT), [request.form.get(name, "") for name in names])
            for unit, names in fields.items()
        }
        try:
            self._ward.tell(patient, told)
        except Refused as refused:
            patient.refused = {unit: one_line(text) for unit, text in refused.problems.items()}, told
        return self._to(patient)

    def _undo(self, number: int) -> Any:
        from flask import request

        patient = self._patient(number)
        if request.form.get("told", type=int) != len(patient.session.ledger):
            return self._too_late(patient)
        self._ward.undo(patient)
        return self._to(patient)

    def _too_late(self, patient: Patient) -> Any:
        """Refuse a form that was shown before the last change: of another tab, or sent twice."""
        patient.note = "Nothing was changed: the session had gone on since that form was shown."
        return self._to(patient)

    def _discharge(self, number: int) -> Any:
        self._ward.discharge(self._patient(number))
        return self._to()

    def _save(self, number: int) -> Any:
        saved = self._patient(number).session.to_json()
        named = {"Content-Disposition": f"attachment; filename={SAVED_AS}"}
        return saved, {"Content-Type": "application/json", **named}

    def line(self, line: Purchase) -> dict[str, str]:
        """Put a line of the ledger into words."""
        values = [value for _, value in line.values]
        nothing = "no result" if line.charged else "could not be had"
        shown = [nothing if value is None else _shown(value) for value in values]
        return {
            "name": line.brought,
            "round": f"round {line.round}",
            "value": ", ".join(shown) if any(value is not None for value in values) else nothing,
            "price": f"{line.price:.2f}",
            "reason": line.reason + (" (in the end it was not needed)" if line.in_vain else ""),
        }

    def price(self, amount: float) -> str:
        """Say what a unit costs."""
        return f"costs {amount:.2f}" if amount else "free"

    def verdict(self, patient: Patient) -> str:
        """Say the answer, or the one so far."""
        return _shown(np.asarray(patient.session.guess).item())

    def state(self, patient: Patient) -> str:
        """Say in a word where a patient stands."""
        if patient.orders:
            return f"order {', '.join(map(self._ward.columns.name, patient.orders))}"
        return f"answer: {self.verdict(patient)}"


def _shown(value: Any) -> str:
    return plain(value, 6) if isinstance(value, float) else f"{value}"
