"""The command ``verify``: a certificate of optimality, checked with integers only, and what it is about."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ipforest.cli.exit_codes import CHECK_FAILED, DONE
from ipforest.cli.options import Arguments, Parser, add_own_options, check_own_options, own_forest

if TYPE_CHECKING:
    from proofs.verdict import Verdict

DESCRIPTION = (
    "Verify a certificate of optimality with integers only; with the files it is about, that it is about them."
)


def add(command: Parser) -> None:
    """Describe its options."""
    command.add_argument(
        "certificate", metavar="FILE", help="optimality.cert or path.cert, of `ipforest prune` or `ipforest path`"
    )
    command.add_argument("--instance", metavar="FILE", help="check that it is for this instance (.npz)")
    origin = command.add_argument_group("what it must have been made from; the instance is made again")
    add_own_options(origin)
    origin.add_argument("--loss", help="loss by which errors must be counted (default: the certificate's)")
    origin.add_argument("--split-cost", metavar="C", help="what one test must cost (default: the certificate's)")
    command.add_argument("--pruned", metavar="FILE", help="check that it is for this pruned forest; needs --model")
    command.add_argument("--result", metavar="FILE", help="check that it is for this result.json")


def run(options: Arguments) -> int:
    """Verify one certificate; exit 1 if it, or a file that it should be about, is refused."""
    from proofs.certificates.archive import CertificateFileError
    from proofs.certificates.pruning_file import read_certificate
    from proofs.verdict import refuse

    check_own_options(options)
    if options.model is None and (options.pruned or options.prices or options.loss or options.split_cost):
        raise ValueError(
            "--model: expected the model and its examples with --pruned, --prices, --loss or --split-cost, got none"
        )
    origin: dict[str, str] = {}
    try:
        certificate = read_certificate(options.certificate)
    except CertificateFileError as problem:
        verdicts = [refuse(str(problem))]
    else:
        origin, verdicts = dict(certificate.provenance), []
        for verdict in _verdicts(certificate, options):
            verdicts.append(verdict)
            if not verdict:
                break
    accepted = all(verdicts)
    reasons = [verdict.reason for verdict in verdicts if accepted or not verdict]
    if options.json:
        print(json.dumps({"accepted": accepted, "reason": "; ".join(reasons), "provenance": origin}))
        return DONE if accepted else CHECK_FAILED
    print(f"{'accepted' if accepted else 'refused'}: {'; '.join(reasons)}")
    for name, value in origin.items():
        print(f"  {name:24} {value}")
    return DONE if accepted else CHECK_FAILED


def _verdicts(certificate: Any, options: Arguments) -> Iterator[Verdict]:
    """Judge the certificate, then each file that it should be about."""
    from ipforest.ensemble.forest import Forest
    from ipforest.instance import PruningInstance
    from ipforest.losses import loss_for
    from ipforest.tabular.model_files import load_model
    from proofs.certificates.pruning_file import verify_instance
    from proofs.provenance import read_result, verify_files, verify_origin, verify_pruned, verify_result

    yield certificate.check()
    yield verify_files(certificate, Path(options.certificate).parent)
    if options.instance is not None:
        yield verify_instance(certificate, PruningInstance.load(options.instance))
    if options.model is not None:
        forest, X, costs, _, _ = own_forest(options)
        stated = certificate.provenance
        loss = loss_for(options.loss or stated.get("loss"), forest.is_classifier)
        split_cost = options.split_cost or stated.get("split_cost", 0)
        yield verify_origin(certificate, forest, X, costs, loss, split_cost)
    if options.pruned is not None:
        pruned = load_model(options.pruned, allow_pickle=options.allow_pickle)
        yield verify_pruned(certificate, forest, Forest.from_sklearn(pruned))
    if options.result is not None:
        try:
            result = read_result(Path(options.result).read_text(encoding="utf-8-sig"))
        except ValueError as problem:
            raise ValueError(f"{options.result}: {str(problem).removeprefix('text: ')}") from None
        yield verify_result(certificate, result)
