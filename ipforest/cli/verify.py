"""The command ``verify``: a certificate of optimality, checked with integers only."""

from __future__ import annotations

import json

from ipforest.cli.options import CHECK_FAILED, DONE, Arguments, Subparsers, add_command


def add(commands: Subparsers) -> None:
    """Describe the command."""
    command = add_command(commands, "verify", run, "Verify a certificate of optimality, with integers only.")
    command.add_argument("certificate", metavar="FILE", help="optimality.cert of `ipforest prune`, or path.cert")
    command.add_argument("--instance", metavar="FILE", help="instance (.npz) that it must be about")


def run(options: Arguments) -> int:
    """Verify one certificate; exit 1 if it is refused."""
    from ipforest.instance import PruningInstance
    from proofs.certificates.pruning_file import verify_certificate_file

    instance = None if options.instance is None else PruningInstance.load(options.instance)
    verdict = verify_certificate_file(options.certificate, instance)
    if options.json:
        print(json.dumps({"accepted": bool(verdict), "reason": verdict.reason}))
    else:
        print(f"{'accepted' if verdict else 'refused'}: {verdict.reason}")
    return DONE if verdict else CHECK_FAILED
